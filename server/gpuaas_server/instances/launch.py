"""The checks before a launch: the version, its inputs, and the allocations. A refusal names all reasons at once."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gpuaas_server.allocations import service as allocations
from gpuaas_server.allocations.service import AllocationFacts
from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.service import Manifest, MemberFacts, PlacementFacts, Refusal, from_document
from gpuaas_server.instances import member_queries
from gpuaas_server.instances.rows import BusyAllocation, InstanceRow, MemberRow, VersionDocument
from gpuaas_server.instances.schemas import HealthReason, Placement
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.json_text import as_json

MOST_OPTION_BYTES = 4096


@dataclass(frozen=True, slots=True)
class Version:
    """Holds what an instance keeps of the version that it runs."""

    app_id: str
    version_id: str
    manifest: Manifest
    digest: str
    publisher_project_id: str

    def document(self) -> VersionDocument:
        return {
            "version_id": self.version_id,
            "version": self.manifest.version,
            "runtime_version": self.manifest.runtime_version,
            "digest": self.digest,
            "publisher_project_id": self.publisher_project_id,
            "manifest": self.manifest.document,
        }


async def choose_version(
    connection: Connection,
    tenant_id: str,
    project_id: str,
    slug: str,
    version: str | None,
    *,
    own_draft: bool = False,
) -> Version:
    """Find the version that may be launched here now, or raise the problem with every reason against it. `own_draft`: as if
    a draft of the project were on trial.
    """
    found = await catalog.launchable(connection, tenant_id, slug, version, project_id, own_draft=own_draft)
    return Version(found.app_id, found.version_id, found.manifest, found.digest, found.publisher_project_id)


async def complete_version(
    connection: Connection, tenant_id: str, project_id: str, version: Version, inputs: dict[str, Any]
) -> Version:
    """Fill in what people answer at launch, after `check_inputs`. An image of their own passes the compatibility check, too."""
    document = version.manifest.document
    made = replace(version, manifest=from_document(catalog.completed(document, inputs)))
    image = catalog.chosen_image(document, inputs)
    if image is None:
        return made
    reasons = await catalog.image_refusals(connection, tenant_id, project_id, image, project_id)
    if reasons:
        raise catalog.not_launchable(version.manifest.slug, reasons)
    return replace(made, digest=image, publisher_project_id=project_id)


async def notices_of(connection: Connection, version_id: str) -> list[HealthReason]:
    """Tell what the version's publisher wants its users to know: it is deprecated or retired, and what to do."""
    found = (await catalog.version_notices(connection, [version_id])).get(version_id)
    if found is None:
        return []
    message = f"Version {found.version} is {found.status}: {found.notice or 'use a newer one'}"
    return [HealthReason(code=f"version_{found.status}", message=message)]


def check_inputs(manifest: Manifest, values: dict[str, Any]) -> None:
    catalog.check_inputs(manifest.inputs, values)
    catalog.check_footprints(manifest.document, values)
    catalog.check_profile_inputs(manifest.document, values)


def check_options(manifest: Manifest, kind: str, values: dict[str, Any]) -> None:
    """Check options against the manifest. An app that says nothing of a kind takes no options with it."""
    size = len(as_json(values))
    if size > MOST_OPTION_BYTES:  # the operation, its audit row and its events carry them
        raise Problem("options_invalid", f"The options have {size} bytes; at most {MOST_OPTION_BYTES} are allowed.")
    schema = manifest.options.get(kind, {"type": "object", "additionalProperties": False})
    catalog.check_inputs(schema, values, "options_invalid", "option")


@dataclass(frozen=True, slots=True)
class LockedAllocations:
    """Allocations that this transaction has locked, and the instances that live on them."""

    facts: dict[str, AllocationFacts]
    busy: dict[str, BusyAllocation]


async def lock_allocations(tx: Tx, project_ids: Sequence[str], allocation_ids: Sequence[str]) -> LockedAllocations:
    """Lock allocations of these projects. Callers lock them before the instance, as a release does."""
    places = await allocations.facts_lock(tx, project_ids, allocation_ids)
    return LockedAllocations(places, await member_queries.busy_allocations(tx.connection, list(places)))


async def check_placements(
    connection: Connection,
    project_id: str,
    manifest: Manifest,
    requested: Sequence[Placement],
    locked: LockedAllocations,
    living: Sequence[MemberRow] = (),
    instance_id: str | None = None,
    served: Sequence[str] = (),
) -> None:
    """Refuse a placement that does not fit, with every reason."""
    places = locked.facts
    others = {one: row.name for one, row in locked.busy.items() if row.instance_id != instance_id}
    unknown = [unknown_allocation(one) for one in requested if one.allocation_id not in places]
    facts = [facts_of(one, places[one.allocation_id], others) for one in requested if one.allocation_id in places]
    members = await members_of(connection, living)
    found = catalog.placement_refusals(
        manifest, facts, members, adding=instance_id is not None, project_id=project_id, served=served
    )
    if unknown:  # the unknown allocations cause these refusals, so the refusals say nothing new
        found = [one for one in found if one.code not in ("component_count_low", "members_missing", "placement_empty")]
    catalog.refuse_placement([*unknown, *found])


async def check_version_fits(
    connection: Connection,
    project_id: str,
    manifest: Manifest,
    living: Sequence[MemberRow],
    served: Sequence[str] = (),
) -> None:
    """Refuse a version that the present members may not be members of."""
    places = await allocations.facts_show(connection, [member.allocation_id for member in living])
    requested = [Placement(**member.placement()) for member in living if member.allocation_id in places]
    facts = [facts_of(one, places[one.allocation_id], {}) for one in requested]
    catalog.refuse_placement(
        catalog.placement_refusals(manifest, facts, (), adding=False, project_id=project_id, served=served)
    )


def manifest_of(row: InstanceRow) -> Manifest:
    return from_document(row.manifest)


def unknown_allocation(requested: Placement) -> Refusal:
    """Refuse an allocation that does not exist in the same words as one that is somebody else's."""
    message = f"{requested.allocation_id} is not an allocation of this project."
    return Refusal("allocation_foreign", message, requested.component_key, requested.allocation_id)


def facts_of(requested: Placement, place: AllocationFacts, busy: dict[str, str]) -> PlacementFacts:
    return PlacementFacts(
        requested.component_key,
        place.id,
        place.state,
        place.shape,
        place.gpu_count,
        place.node_id,
        place.tenant_id,
        place.project_id,
        busy.get(place.id),
    )


async def members_of(connection: Connection, living: Sequence[MemberRow]) -> list[MemberFacts]:
    if not living:
        return []
    places = await allocations.facts_show(connection, [member.allocation_id for member in living])
    return [
        MemberFacts(
            member.id,
            member.component_key,
            member.allocation_id,
            member.node_id,
            places[member.allocation_id].shape if member.allocation_id in places else "",
            member.project_id,
        )
        for member in living
    ]
