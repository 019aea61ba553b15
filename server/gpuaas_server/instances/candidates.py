"""Candidates for a placement: the project's allocations, each with the reasons why it does not fit. Nothing is locked."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, field

from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationFacts
from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.service import Component, Manifest, MemberFacts, PlacementFacts, Refusal
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import member_queries, queries
from gpuaas_server.instances.launch import choose_version, facts_of, manifest_of, members_of, unknown_allocation
from gpuaas_server.instances.schemas import (
    CandidateComponent,
    Placement,
    PlacementCandidate,
    PlacementCandidates,
    PlacementRefusal,
)
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.pages import PageRequest

# A component that it depends on may be placed later, so this is no reason against an allocation.
_LATER = frozenset({"dependency_missing"})


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """The app, and what was chosen so far. `instance_id` is given for members that join a living instance."""

    app: str
    version: str | None
    instance_id: str | None
    chosen: Sequence[Placement]

    @classmethod
    def of(cls, app: str, version: str | None, instance_id: str | None, chosen: Iterable[str]) -> "CandidateQuery":
        """Read `chosen` as the query string has it, component:allocation. A malformed id is an unknown one."""
        pairs = (text.partition(":") for text in dict.fromkeys(chosen))
        places = [Placement.model_construct(component_key=key, allocation_id=one) for key, _, one in pairs]
        return cls(app, version, instance_id, places)


@dataclass(frozen=True, slots=True)
class _PlacementCheck:
    """Holds what the compatibility check needs to know besides the candidate."""

    manifest: Manifest
    project_id: str
    chosen: list[PlacementFacts]
    living: list[MemberFacts]
    cache: dict[tuple[PlacementFacts, ...], frozenset[Refusal]] = field(default_factory=dict)

    def refusals_with(self, place: AllocationFacts, component: Component, busy: dict[str, str]) -> list[Refusal]:
        """List what is refused with the candidate and not without it. It replaces the only
        member of a component that has one at most.
        """
        others = [
            one
            for one in self.chosen
            if (one.component_key, one.allocation_id) != (component.key, place.id)
            and not (component.max == 1 and one.component_key == component.key)
        ]
        candidate = facts_of(Placement(component_key=component.key, allocation_id=place.id), place, busy)
        before = self._refusals_without(tuple(others))
        return [one for one in self._refusals([*others, candidate]) if one not in before and one.code not in _LATER]

    def _refusals_without(self, others: tuple[PlacementFacts, ...]) -> frozenset[Refusal]:
        """List what is refused without the candidate. That is the same for nearly all candidates, so it is kept."""
        if others not in self.cache:
            self.cache[others] = frozenset(self._refusals(others)) if others else frozenset()
        return self.cache[others]

    def _refusals(self, placements: Sequence[PlacementFacts]) -> list[Refusal]:
        return catalog.placement_refusals(
            self.manifest, placements, self.living, adding=True, project_id=self.project_id
        )


async def placement_list(
    connection: Connection,
    caller: Caller,
    query: CandidateQuery,
    page: PageRequest,
) -> PlacementCandidates:
    manifest, living = await _app(connection, caller, query)
    listed = await allocations.facts_list(connection, caller.project_id, page)
    found = await allocations.facts_show(connection, [one.allocation_id for one in query.chosen])
    known = {one.id: one for one in found.values() if one.project_id == caller.project_id}
    busy = await _busy(connection, [*known, *(one.id for one in listed)], query.instance_id)
    chosen = [facts_of(one, known[one.allocation_id], busy) for one in query.chosen if one.allocation_id in known]
    check = _PlacementCheck(manifest, caller.project_id, chosen, living)
    unknown = [unknown_allocation(one) for one in query.chosen if one.allocation_id not in known]
    adding = query.instance_id is not None
    whole = catalog.placement_refusals(manifest, chosen, living, adding=adding, project_id=caller.project_id)
    # A page of places beside thousands of members is a second of work: other requests go on meanwhile.
    items = await asyncio.to_thread(lambda: [_candidate(check, place, busy) for place in listed[: page.limit]])
    more = items[-1].id if len(listed) > page.limit else None
    return PlacementCandidates(items=items, next_cursor=more, refusals=[_wire(one) for one in (*unknown, *whole)])


async def _app(connection: Connection, caller: Caller, query: CandidateQuery) -> tuple[Manifest, list[MemberFacts]]:
    """Load the manifest that decides, and the members that are there already."""
    if query.instance_id is None:
        wanted = (query.app, query.version)
        return (
            await choose_version(connection, caller.tenant_id, caller.project_id, *wanted, own_draft=True)
        ).manifest, []
    row = await queries.instance_show(connection, caller.project_id, query.instance_id, identity.visible_apps(caller))
    if row is None or row.app_slug != query.app:
        raise not_found("instance", query.instance_id)
    return manifest_of(row), await members_of(
        connection, await member_queries.members_living(connection, query.instance_id)
    )


async def _busy(connection: Connection, allocation_ids: Sequence[str], instance_id: str | None) -> dict[str, str]:
    rows = await member_queries.busy_allocations(connection, allocation_ids)
    return {one: row.name for one, row in rows.items() if row.instance_id != instance_id}


def _candidate(check: _PlacementCheck, place: AllocationFacts, busy: dict[str, str]) -> PlacementCandidate:
    components = [
        CandidateComponent(
            component_key=component.key,
            refusals=[_wire(one) for one in check.refusals_with(place, component, busy)],
        )
        for component in check.manifest.components
    ]
    facts = {name: getattr(place, name) for name in PlacementCandidate.model_fields if name != "components"}
    return PlacementCandidate(components=components, **facts)


def _wire(refusal: Refusal) -> PlacementRefusal:
    return PlacementRefusal(**asdict(refusal))
