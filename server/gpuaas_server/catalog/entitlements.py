"""The verbs of entitlements: which tenants see an app that is not for everybody."""

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import queries
from gpuaas_server.catalog.hooks import controller_hooks
from gpuaas_server.catalog.rows import EntitlementRow
from gpuaas_server.catalog.schemas import Entitlement
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of


async def entitlement_grant(tx: Tx, tenant_id: str, slug: str, consent: str = "none") -> Entitlement:
    """Grant the app to the tenant, which sees it once its visibility is `entitled`. Granting twice is not an error."""
    app = await queries.app_by_slug(tx.connection, slug)
    if app is None:
        raise not_found("app", slug)
    row = EntitlementRow(new_id("etl"), tenant_id, app.id, app.slug, app.display_name, tx.actor.id, tx.now)
    new = await queries.entitlement_insert(tx.connection, row)
    if not new:
        row = await queries.entitlement_of(tx.connection, tenant_id, app.id)
    details: dict[str, object] = {"slug": slug, "app_id": app.id, "repeated": not new}
    await record(tx, AuditEntry("entitlement_grant", row.id, tenant_id, details=details))
    if consent == "default":
        await controller_hooks().consent_with_entitlement(tx, tenant_id, app.id)
    if new:
        await emit(tx, NewEvent("entitlement.granted", row.id, tenant_id, data={"slug": slug}))
    return Entitlement(**fields_of(row))


async def tenant_entitlement_list(connection: Connection, tenant_id: str, page: PageRequest) -> Page[Entitlement]:
    rows = await queries.entitlement_list(connection, {"tenant_id": tenant_id}, page)
    return Page[Entitlement].of([Entitlement(**fields_of(row)) for row in rows], page)


async def app_entitlement_list(connection: Connection, app_id: str, page: PageRequest) -> Page[Entitlement]:
    if not await queries.app_exists(connection, app_id):
        raise not_found("app", app_id)
    rows = await queries.entitlement_list(connection, {"app_id": app_id}, page)
    return Page[Entitlement].of([Entitlement(**fields_of(row)) for row in rows], page)


async def entitlement_revoke(tx: Tx, tenant_id: str, entitlement_id: str) -> None:
    """Remove the app from the tenant's catalogue; what runs there goes on."""
    app_id = await queries.entitlement_delete(tx.connection, tenant_id, entitlement_id)
    if app_id is None:
        raise not_found("entitlement", entitlement_id)
    await record(tx, AuditEntry("entitlement_revoke", entitlement_id, tenant_id, details={"app_id": app_id}))
    await emit(tx, NewEvent("entitlement.revoked", entitlement_id, tenant_id, data={"app_id": app_id}))
