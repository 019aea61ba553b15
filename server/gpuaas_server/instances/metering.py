"""What a controller may count of an instance, and for which projects; `app_usage` keeps the counts."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from gpuaas_server.identity import service as identity
from gpuaas_server.instances import queries
from gpuaas_server.instances.rows import InstanceRow
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found


@dataclass(frozen=True, slots=True)
class Metered:
    instance_id: str
    tenant_id: str
    app_slug: str
    units: Mapping[str, frozenset[str]]  # by metric
    projects: frozenset[str]  # that it serves, or has served: what began then may end later
    created_at: datetime
    decommissioned_at: datetime | None


async def metered(connection: Connection, caller: Caller, project_id: str, instance_id: str) -> Metered:
    """Answer the controller that the app is bound to, also for a decommissioned instance: the last report may come late."""
    row = await queries.instance_show(connection, project_id, instance_id)
    if row is None:
        raise not_found("instance", instance_id)
    if row.app_slug not in identity.bound_apps(caller):
        raise Problem(
            "not_the_controller", f"The service account is not bound to {row.app_slug}.", {"app": row.app_slug}
        )
    projects = await queries.projects_ever(connection, instance_id)
    return Metered(
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
        for dimension in manifest.get("metering", ()):
            units[dimension["key"]] = units.get(dimension["key"], frozenset()) | {dimension["unit"]}
    return units
