"""Rooms that answer questions of the rooms below them, introduced to them once, before a process serves or works."""

from gpuaas_server.allocations.guests import AllocationGuests, allocation_guests
from gpuaas_server.allocations.host_changes import announce_host_change
from gpuaas_server.artifacts.users import ArtifactUsers, artifact_users
from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.users import VersionUsers, version_users
from gpuaas_server.instances import service as instances
from gpuaas_server.kernel.context import Tx
from gpuaas_server.nodes.occupants import NodeOccupants, node_occupants
from gpuaas_server.terminals import service as terminals


async def _host_gone(tx: Tx, allocation_id: str, reason: str) -> None:
    await terminals.allocation_ended(tx, allocation_id)
    await instances.allocation_ended(tx, allocation_id, reason)


def introduce_rooms() -> None:
    artifact_users.give(
        ArtifactUsers(
            live_instances=instances.live_on_digest,
            active_versions=catalog.active_versions_on_digest,
            versions=catalog.versions_on_digest,
            no_longer_trusted=instances.artifact_flagged,
        )
    )
    allocation_guests.give(
        AllocationGuests(
            ask_to_leave=instances.allocation_wants_release,
            are_there=instances.allocation_guests,
            host_gone=_host_gone,
        )
    )
    node_occupants.give(NodeOccupants(host_changed=announce_host_change))
    version_users.give(VersionUsers(live_instances=instances.live_on_version))
