"""Derives what follows from kind bindings and from the platform's own apps: bindings of single apps, and consents by default.

It is worked out anew whenever an app, a binding or a tenant changed, so it can run at any time and be repeated. The worker does
it (reconciler.py): it writes rows of several tenants, which no caller may.
"""

from gpuaas_server.controllers import kind_queries, queries
from gpuaas_server.controllers.consents import give_with_entitlement
from gpuaas_server.controllers.machine import BindingChanges, ServedAppFacts
from gpuaas_server.controllers.rows import BindingRow
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations import service as operations
from gpuaas_server.work import leases

APP_SERVICE = "app_service"  # the subject is an app, or a kind binding: then all its apps
MOST_TENANTS = 500  # that one transaction gives an app to


async def change_bindings(tx: Tx, app: ServedAppFacts, changes: BindingChanges) -> None:
    # First what goes: an app has one binding per account, and the account may be bound to two of its kinds.
    for gone in changes.remove:
        await kind_queries.derived_binding_delete(tx.connection, gone.id)
        await identity.change_controlled_apps(tx, gone.service_account_id, add=(), remove=[app.slug])
        await leases.enqueue(tx, identity.CONTROLLER_LEASES_END, [gone.service_account_id])
    for one in changes.add:
        row = BindingRow(
            id=new_id("cbd"),
            tenant_id=one.tenant_id,
            project_id=one.project_id,
            app_id=app.id,
            app_slug=app.slug,
            service_account_id=one.service_account_id,
            service_account_name=one.service_account_name,
            created_by=one.created_by,
            created_at=tx.now,
            kind_binding_id=one.id,
        )
        await queries.binding_insert(tx.connection, row)
        await identity.change_controlled_apps(tx, one.service_account_id, add=[app.slug], remove=())
        tx.wakeups.add(operations.controller_topic(one.project_id))  # its poll must learn of the app
    if changes.add or changes.remove:
        tx.wakeups |= {identity.TOPIC, operations.app_topic(app.slug)}
    tx.audited = True


async def give_to_tenants(tx: Tx, app: ServedAppFacts) -> bool:
    """Give an app that the platform's controllers serve to those who have not decided about it. True: there are more.

    Of the platform's own apps these are all tenants, of another one its publisher.
    """
    tenants = (
        await kind_queries.tenants_without_app(tx.connection, app.id, MOST_TENANTS)
        if app.of_platform
        else await kind_queries.publisher_without_consent(tx.connection, app.id)
    )
    await give_with_entitlement(tx, app, tenants)
    return len(tenants) == MOST_TENANTS


async def app_changed(tx: Tx, app_id: str) -> None:
    """Called by the catalogue when an app has one more version that somebody may run, or one less."""
    await leases.enqueue(tx, APP_SERVICE, [app_id])


async def tenant_created(tx: Tx, tenant_id: str) -> None:
    """Give the platform's own apps to a new tenant. The caller is a platform administrator, who may write its rows."""
    for app in await kind_queries.platform_apps_served(tx.connection):
        await give_with_entitlement(tx, app, [tenant_id])
