"""The caller as the policy sees them: a plain value, made from the rows that callers.py reads."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from gpuaas_server.identity.certificate_rules import NO_RULES, CertificateRules
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.dataclass import dataclass

NOTHING: frozenset[str] = frozenset()
CONTROL = frozenset({"apps:control"})

# Every user and every service account has one of these roles; the others are given by a binding.
USER = "user"
SERVICE_ACCOUNT = "service_account"

# Work for `access`: the subject may no longer log in anywhere (disabled, or out of the tenant's administration).
ACCESS_END = "access_end"
# Work for whoever leases operations to controllers: this service account may have lost an app, its scope, or everything.
CONTROLLER_LEASES_END = "controller_leases_end"
# Work for `access`: the subject is a user that was deleted, whose stored SSH keys go too.
SSH_KEYS_DELETE = "ssh_keys_delete"


@dataclass(frozen=True, slots=True)
class Binding:
    """A role in a project, a tenant, or (without either) on the platform."""

    role: str
    tenant_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, slots=True)
class Principal:
    """An authenticated account. `…_roles` are what it holds in each kind of place; a service account holds its scopes like
    roles.
    """

    id: str
    kind: str
    name: str
    tenant_id: str  # empty: of the platform
    email: str | None
    disabled: bool
    auth_epoch: int
    bindings: tuple[Binding, ...]
    scopes: frozenset[str]
    platform_roles: frozenset[str]
    tenant_roles: frozenset[str]
    project_roles: Mapping[str, frozenset[str]]
    tenant_admin_roles: frozenset[str]  # roles in every project of the tenant
    everywhere: frozenset[str]
    database_scope: Scope
    apps: frozenset[str] = NOTHING  # slugs of the apps that a service account is the controller of
    expires_at: datetime | None = None
    live_keys: Mapping[str, datetime | None] | None = None
    certificates: CertificateRules = NO_RULES
    deleting: bool = False  # the tenant, or a service account's project, is to be deleted

    def roles_at(self, tenant_id: str | None, project_id: str | None) -> frozenset[str]:
        """Return the caller's roles in a tenant or project. Without a role, it is hidden from the caller."""
        if self.platform_roles:
            return self.platform_roles
        if tenant_id is None or tenant_id != self.tenant_id:
            return NOTHING
        if project_id is None:
            return self.tenant_roles
        return self.project_roles.get(project_id, self.tenant_admin_roles)

    def by_consent(self, tenant_id: str, project_id: str, apps: frozenset[str]) -> "Principal":
        """Return the controller of these apps in a project whose tenant consents: there it holds `apps:control` and no more."""
        return replace(
            self,
            tenant_id=tenant_id,
            scopes=CONTROL,
            tenant_roles=NOTHING,
            project_roles={project_id: CONTROL},
            everywhere=CONTROL,
            apps=self.apps & apps,
            database_scope=Scope(tenant_id, controller=self.id),
        )


@dataclass(frozen=True, slots=True)
class Account:
    """A user's own columns."""

    id: str
    name: str
    email: str
    tenant_id: str | None
    disabled: bool = False
    auth_epoch: int = 1
    deleting: bool = False


def user_principal(account: Account, bindings: Iterable[Binding]) -> Principal:
    bindings = tuple(bindings)
    platform = frozenset(b.role for b in bindings if b.tenant_id is None)
    admin = frozenset(b.role for b in bindings if b.tenant_id is not None and b.project_id is None)
    projects = {b.project_id: admin | {b.role} for b in bindings if b.project_id is not None}
    own = admin.union(*projects.values())
    return Principal(
        id=account.id,
        kind=USER,
        name=account.name,
        tenant_id=account.tenant_id or "",
        email=account.email,
        disabled=account.disabled,
        auth_epoch=account.auth_epoch,
        bindings=bindings,
        scopes=NOTHING,
        platform_roles=platform,
        tenant_roles=own | {USER} if account.tenant_id else NOTHING,
        project_roles=projects,
        tenant_admin_roles=admin,
        everywhere=platform | own | {USER},
        # A user of the platform has no tenant's rows; without a role the policy shows them only themselves.
        database_scope=Scope(account.tenant_id) if account.tenant_id else PLATFORM,
        deleting=account.deleting,
    )


@dataclass(frozen=True, slots=True)
class ServiceAccountState:
    """A service account's own columns, with when each of its keys expires."""

    id: str
    name: str
    tenant_id: str
    project_id: str
    scopes: frozenset[str]
    disabled: bool
    expires_at: datetime | None
    keys: Mapping[str, datetime | None]
    app_slugs: frozenset[str] = frozenset()
    certificates: CertificateRules = NO_RULES
    deleting: bool = False


def service_account_principal(account: ServiceAccountState) -> Principal:
    grants = account.scopes | {SERVICE_ACCOUNT}
    return Principal(
        id=account.id,
        kind=SERVICE_ACCOUNT,
        name=account.name,
        tenant_id=account.tenant_id,
        email=None,
        disabled=account.disabled,
        auth_epoch=0,
        bindings=(Binding(SERVICE_ACCOUNT, account.tenant_id, account.project_id),),
        scopes=account.scopes,
        apps=account.app_slugs,
        platform_roles=NOTHING,
        tenant_roles=NOTHING,
        project_roles={account.project_id: grants},
        tenant_admin_roles=NOTHING,
        everywhere=grants,
        database_scope=Scope(account.tenant_id),
        expires_at=account.expires_at,
        live_keys=account.keys,
        certificates=account.certificates,
        deleting=account.deleting,
    )
