"""The platform's own project: it publishes the platform's apps, and its service accounts control them for every tenant.

It is made once, from the server's own machine, together with the account of the process that provides these apps.
"""

import secrets
from collections.abc import Callable
from dataclasses import field

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.schemas import ServiceAccountCreate
from gpuaas_server.kernel.context import Platform, Tx, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.projects import queries
from gpuaas_server.projects.queries import ProjectRow, TenantRow

TENANT, PROJECT, ACCOUNT = "platform", "apps", "platform-apps"
# What publishing an app and running its controller takes, in this one project.
SCOPES = ("apps:provide", "artifacts:promote", "artifacts:publish", "artifacts:read")


@dataclass(frozen=True, slots=True)
class AppsAccount:
    """The account of the process that provides the platform's apps, with a new key of it."""

    project_id: str
    client_id: str
    client_secret: str = field(repr=False)


async def make_apps_account(platform: Platform, keep: Callable[[AppsAccount], None]) -> AppsAccount:
    """Make a key for the process that provides the platform's apps, and before that what is missing: project and account.

    `keep` is called before the commit: when it fails nothing was made, and the next start tries again.
    """
    async with platform.transaction(PLATFORM, system_actor("platform-apps")) as tx:
        project = await queries.platform_project(tx.connection, lock=True) or await _make_project(tx)
        if project.delete_after is not None:
            raise StartFailed(
                "the platform's own project is to be deleted; undo that (`gpuaas projects undelete`), or set"
                " GPUAAS_PLATFORM_APPS=none"
            )
        body = ServiceAccountCreate.model_validate({"name": ACCOUNT, "scopes": [*SCOPES]})
        account_id, key = await identity.ensure_account(tx, project.tenant_id, project.id, body)
        await tx.flush()
        made = AppsAccount(project.id, account_id, key.secret)
        keep(made)
    return made


async def _make_project(tx: Tx) -> ProjectRow:
    tenant = await _make_tenant(tx)
    made = await queries.project_insert(
        tx.connection, new_id("prj"), tenant.id, PROJECT, "The platform's own apps", tx.now
    )
    if made is None:
        raise StartFailed(f"the new tenant {tenant.slug} has a project {PROJECT} already")
    project = await queries.project_set_platform(tx.connection, made.id)
    details: dict[str, object] = {"slug": PROJECT, "platform": True}
    await record(tx, AuditEntry("project_create", project.id, tenant.id, project.id, details=details))
    await emit(tx, NewEvent("project.created", project.id, tenant.id, project.id, {"slug": PROJECT}))
    return project


async def _make_tenant(tx: Tx) -> TenantRow:
    """Create a tenant for it alone. Where somebody uses its slug already, it gets a longer one."""
    for slug in (TENANT, f"{TENANT}-{secrets.token_hex(4)}"):
        row = await queries.tenant_insert(tx.connection, new_id("tnt"), slug, "Platform", tx.now)
        if row is not None:
            await record(tx, AuditEntry("tenant_create", row.id, row.id, details={"slug": slug, "platform": True}))
            await emit(tx, NewEvent("tenant.created", row.id, row.id, data={"slug": slug}))
            return row
    raise StartFailed("no slug was free for the platform's own tenant; try again")
