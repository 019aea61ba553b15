"""The instances that a controller looks after: in its own project, and in every tenant that consents to it."""

from gpuaas_server.controllers import service as controllers
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import served_instance_queries as queries
from gpuaas_server.instances.controller_schemas import ServedInstance
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.http.admissions import Admission
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of


async def controller_instance_list(
    platform: Platform, admission: Admission, project_id: str, slug: str, page: PageRequest
) -> Page[ServedInstance]:
    """List the running instances that this controller looks after: those of its project, and where tenants consent."""
    caller = admission.caller
    if slug not in identity.bound_apps(caller):
        return Page[ServedInstance].of([], page)
    async with platform.database.connection(admission.scope) as connection:
        rows = await queries.instances_served(connection, slug, project_id, page)
        bound = await controllers.slugs_bound(connection, caller.id)
    if bound:
        async with platform.database.connection(controllers.cross_tenant_scope(caller.id)) as connection:
            elsewhere = await queries.instances_served(connection, slug, None, page)
        rows = sorted({row.id: row for row in (*rows, *elsewhere)}.values(), key=lambda row: row.id)
    return Page[ServedInstance].of([ServedInstance(**fields_of(row)) for row in rows[: page.rows]], page)
