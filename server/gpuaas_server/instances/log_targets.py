"""Finds where the log of a member is: its allocation's host, the units that the app names, and since when they are its own."""

from datetime import datetime

from gpuaas_server.allocations.service import allocation_hosts
from gpuaas_server.catalog.service import footprint_of
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import member_queries, queries
from gpuaas_server.instances.rows import InstanceRow, MemberRow
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found

SERVED = ("active", "unhealthy")


@dataclass(frozen=True, slots=True)
class LogTarget:
    instance_id: str
    tenant_id: str
    project_id: str
    member_id: str
    allocation_id: str
    node_id: str
    shape: str
    lost_since: datetime | None
    since: datetime  # earlier lines are not this member's
    units: tuple[str, ...]


async def log_target(connection: Connection, caller: Caller, instance_id: str, member_id: str | None) -> LogTarget:
    """Find the member's log. Only the instance's own project reads it: others that it serves would see each other's lines."""
    row = await queries.instance_seen(connection, caller.project_id, instance_id, identity.visible_apps(caller))
    if row is None or row.project_id != caller.project_id:
        raise not_found("instance", instance_id)
    member = await _member(connection, instance_id, member_id)
    units = _units(row)
    if not units:
        raise Problem("log_source_missing", f"App {row.app_slug} names no units, so its members have no log.")
    host = (await allocation_hosts(connection, [member.allocation_id])).get(member.allocation_id)
    if host is None or member.host_gone or host.state not in SERVED:
        raise Problem("not_active", f"The allocation of member {member.id} is not active; its lines are gone with it.")
    return LogTarget(
        instance_id=row.id,
        tenant_id=row.tenant_id,
        project_id=row.project_id,
        member_id=member.id,
        allocation_id=member.allocation_id,
        node_id=member.node_id,
        shape=host.shape,
        lost_since=member.host_lost_since,
        since=member.created_at,
        units=units,
    )


async def _member(connection: Connection, instance_id: str, member_id: str | None) -> MemberRow:
    if member_id is not None:
        found = await member_queries.member_show(connection, instance_id, member_id)
        if found is None:
            raise not_found("member", member_id)
        if found.removed_at is not None:
            raise Problem("log_source_missing", f"Member {member_id} was removed, and its log with it.")
        return found
    living = await member_queries.members_living(connection, instance_id)
    if len(living) == 1:
        return living[0]
    if not living:
        raise Problem("log_source_missing", "The instance has no members.")
    names = [one.id for one in living[:50]]
    raise Problem("invalid_request", f"The instance has {len(living)} members: name one.", {"members": names})


def _units(row: InstanceRow) -> tuple[str, ...]:
    """Return the units of all versions that may be on the hosts."""
    named = (str(unit) for one in row.manifests() for unit in footprint_of(one, row.inputs, row.id).get("units", ()))
    return tuple(dict.fromkeys(named))
