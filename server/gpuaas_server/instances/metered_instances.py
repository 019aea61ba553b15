"""Tells what a controller may count of an instance, and for which projects; `app_usage` keeps the counts."""

from collections.abc import Mapping
from datetime import datetime

from gpuaas_server.catalog.service import metered_units
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import member_queries, queries
from gpuaas_server.instances.rows import InstanceRow
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found


@dataclass(frozen=True, slots=True)
class MeteredInstance:
    instance_id: str
    tenant_id: str
    app_slug: str
    units: Mapping[str, frozenset[str]]  # by metric
    projects: frozenset[str]  # that it serves, or has served: what began then may end later
    created_at: datetime
    decommissioned_at: datetime | None


async def load_metered_instance(connection: Connection, caller: Caller, instance_id: str) -> MeteredInstance:
    """Answer the controller that the app is bound to, also for a decommissioned instance: the last report may come late."""
    row = await queries.instance_show(connection, caller.project_id, instance_id)
    if row is None:
        raise not_found("instance", instance_id)
    if row.app_slug not in identity.bound_apps(caller):
        raise Problem(
            "not_the_controller", f"The service account is not bound to {row.app_slug}.", {"app": row.app_slug}
        )
    projects = await queries.projects_ever(connection, instance_id)
    return MeteredInstance(
        instance_id,
        row.tenant_id,
        row.app_slug,
        _units(row),
        frozenset(projects),
        row.created_at,
        row.decommissioned_at,
    )


def _units(instance: InstanceRow) -> dict[str, frozenset[str]]:
    """Collect the units of all versions: what an earlier version counted may be reported by the next."""
    units: dict[str, frozenset[str]] = {}
    for manifest in instance.manifests():
        for key, unit in metered_units(manifest):
            units[key] = units.get(key, frozenset()) | {unit}
    return units


async def member_allocations(connection: Connection, instance_id: str) -> list[tuple[str, str]]:
    """List the allocations of the living members, each once, with the project that each is of."""
    members = await member_queries.members_living(connection, instance_id)
    present = (one for one in members if not one.host_gone)
    return sorted({(one.allocation_id, one.place_project_id or one.project_id) for one in present})
