"""Where an app could live: the project's allocations, and of each the gate's own reasons why not. Nothing is locked."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field

from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationFacts
from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.service import Component, Manifest, MemberFacts, PlacementFacts, Refusal
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import member_queries, queries
from gpuaas_server.instances.launch import choose_version, facts_of, manifest_of, members_of, unknown_place
from gpuaas_server.instances.schemas import (
    CandidateComponent,
    Placement,
    PlacementCandidate,
    PlacementCandidates,
    PlacementRefusal,
)
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found

# Whom it depends on may be chosen later: no reason against an allocation.
_LATER = frozenset({"dependency_missing"})


@dataclass(frozen=True, slots=True)
class CandidateQuery:
    """What was chosen so far. `instance_id`: they join a living instance."""

    app: str
    version: str | None
    instance_id: str | None
    chosen: Sequence[Placement]

    @classmethod
    def of(cls, app: str, version: str | None, instance_id: str | None, chosen: Iterable[str]) -> "CandidateQuery":
        """`chosen` as an address says it: component:allocation. What can be no id of ours is one that nobody knows."""
        pairs = (text.partition(":") for text in dict.fromkeys(chosen))
        places = [Placement.model_construct(component_key=key, allocation_id=one) for key, _, one in pairs]
        return cls(app, version, instance_id, places)


@dataclass(frozen=True, slots=True)
class _Setting:
    """All that the gate is told beside the candidate."""

    manifest: Manifest
    project_id: str
    chosen: list[PlacementFacts]
    living: list[MemberFacts]
    asked: dict[tuple[PlacementFacts, ...], frozenset[Refusal]] = field(default_factory=dict)

    def against(self, place: AllocationFacts, component: Component, busy: dict[str, str]) -> list[Refusal]:
        """What would be refused with it, and is not refused without it. Of a component that is one, it takes the place."""
        others = [
            one
            for one in self.chosen
            if (one.component_key, one.allocation_id) != (component.key, place.id)
            and not (component.max == 1 and one.component_key == component.key)
        ]
        candidate = facts_of(Placement(component_key=component.key, allocation_id=place.id), place, busy)
        before = self._known(tuple(others))
        return [one for one in self._refusals([*others, candidate]) if one not in before and one.code not in _LATER]

    def _known(self, others: tuple[PlacementFacts, ...]) -> frozenset[Refusal]:
        """Without the candidate: the same for nearly all of them, so it is asked once."""
        if others not in self.asked:
            self.asked[others] = frozenset(self._refusals(others)) if others else frozenset()
        return self.asked[others]

    def _refusals(self, placements: Sequence[PlacementFacts]) -> list[Refusal]:
        return catalog.placement_refusals(
            self.manifest, placements, self.living, adding=True, project_id=self.project_id
        )


async def placement_list(
    connection: Connection,
    tenant_id: str,
    project_id: str,
    caller: Caller,
    request: CandidateQuery,
    after: str | None,
    limit: int,
) -> PlacementCandidates:
    manifest, living = await _app(connection, tenant_id, project_id, caller, request)
    listed = await allocations.facts_list(connection, project_id, after, limit + 1)
    found = await allocations.facts_show(connection, [one.allocation_id for one in request.chosen])
    known = {one.id: one for one in found.values() if one.project_id == project_id}
    busy = await _busy(connection, [*known, *(one.id for one in listed)], request.instance_id)
    chosen = [facts_of(one, known[one.allocation_id], busy) for one in request.chosen if one.allocation_id in known]
    setting = _Setting(manifest, project_id, chosen, living)
    unknown = [unknown_place(one) for one in request.chosen if one.allocation_id not in known]
    adding = request.instance_id is not None
    whole = catalog.placement_refusals(manifest, chosen, living, adding=adding, project_id=project_id)
    # A page of places beside thousands of members is a second of work: other requests go on meanwhile.
    items = await asyncio.to_thread(lambda: [_candidate(setting, place, busy) for place in listed[:limit]])
    more = items[-1].id if len(listed) > limit else None
    return PlacementCandidates(items=items, next_cursor=more, refusals=[_wire(one) for one in (*unknown, *whole)])


async def _app(
    connection: Connection, tenant_id: str, project_id: str, caller: Caller, request: CandidateQuery
) -> tuple[Manifest, list[MemberFacts]]:
    """The manifest that decides, and the members that are there already."""
    if request.instance_id is None:
        return (await choose_version(connection, tenant_id, project_id, request.app, request.version)).manifest, []
    row = await queries.instance_show(connection, project_id, request.instance_id, identity.apps_in_sight(caller))
    if row is None or row.app_slug != request.app:
        raise not_found("instance", request.instance_id)
    return manifest_of(row), await members_of(
        connection, await member_queries.members_living(connection, request.instance_id)
    )


async def _busy(connection: Connection, allocation_ids: Sequence[str], instance_id: str | None) -> dict[str, str]:
    rows = await member_queries.busy_allocations(connection, allocation_ids)
    return {one: row.name for one, row in rows.items() if row.instance_id != instance_id}


def _candidate(setting: _Setting, place: AllocationFacts, busy: dict[str, str]) -> PlacementCandidate:
    components = [
        CandidateComponent(
            component_key=component.key,
            refusals=[_wire(one) for one in setting.against(place, component, busy)],
        )
        for component in setting.manifest.components
    ]
    names = ("id", "name", "state", "shape", "gpu_model", "gpu_count", "node_id")
    return PlacementCandidate(components=components, **{name: getattr(place, name) for name in names})


def _wire(refusal: Refusal) -> PlacementRefusal:
    return PlacementRefusal(**asdict(refusal))
