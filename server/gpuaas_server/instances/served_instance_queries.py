"""SQL of the instances that a controller looks after."""

from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import columns_of, fetch_all


@dataclass(frozen=True, slots=True)
class ServedInstanceRow:
    """An instance that a controller serves."""

    id: str
    tenant_id: str
    project_id: str
    name: str
    app_slug: str
    version: str
    status: str
    operation_id: str | None
    generation: int


async def instances_served(
    connection: Connection, slug: str, project_id: str | None, page: PageRequest
) -> list[ServedInstanceRow]:
    """List instances of the app that run, the oldest first: of one project, or, in the scope of a controller, of all."""
    return await fetch_all(
        connection,
        ServedInstanceRow,
        f"SELECT {columns_of(ServedInstanceRow)} FROM app_instances WHERE app_slug = %(slug)s"
        " AND decommissioned_at IS NULL AND status = 'running' AND id > coalesce(%(after)s, '')"
        " AND (%(project)s::text IS NULL OR project_id = %(project)s) ORDER BY id LIMIT %(limit)s",
        {"slug": slug, "project": project_id, "after": page.after, "limit": page.rows},
    )
