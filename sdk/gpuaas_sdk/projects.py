"""Projects, their members and their service accounts."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.identity import Member
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class Project(Resource):
    id: str
    slug: str
    tenant_id: str = ""
    name: str = ""
    disabled: bool = False
    generation: int = 0
    created_at: datetime | None = None
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class ServiceAccountKey(Resource):
    """`secret` is there once, in the answer to its creation."""

    id: str
    secret: str | None = field(default=None, repr=False)
    created_at: datetime | None = None
    expires_at: datetime | None = None
    last_used_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceAccount(Resource):
    id: str
    name: str
    tenant_id: str = ""
    project_id: str = ""
    scopes: list[str] = field(default_factory=list)
    app_slugs: list[str] = field(default_factory=list)
    disabled: bool = False
    expires_at: datetime | None = None
    created_by: str = ""
    generation: int = 0
    created_at: datetime | None = None
    key: ServiceAccountKey | None = field(default=None, repr=False)
    allowed_actions: list[str] = field(default_factory=list)


class Projects(Calls):
    def list(self, tenant_id: str | None = None) -> Pages[Project]:
        """Those the caller may see, or those of one tenant."""
        path = ("projects",) if tenant_id is None else ("tenants", tenant_id, "projects")
        return self._pages(Project, *path)

    def create(self, tenant_id: str, slug: str, name: str) -> Project:
        body = {"slug": slug, "name": name}
        return self._change("POST", Project, "tenants", tenant_id, "projects", body=body)

    def show(self, project_id: str) -> Project:
        return self._read(Project, "projects", project_id)

    def update(
        self,
        project_id: str,
        *,
        name: str | None = None,
        disabled: bool | None = None,
        generation: int | None = None,
    ) -> Project:
        body = given(name=name, disabled=disabled)
        path = ("projects", project_id)
        return self._change("PATCH", Project, *path, body=body, generation=generation)

    def members(self, project_id: str) -> Pages[Member]:
        return self._pages(Member, "projects", project_id, "members")

    def set_member(self, project_id: str, user_id: str, role: str) -> Member:
        path = ("projects", project_id, "members", user_id)
        return self._change("PUT", Member, *path, body={"role": role})

    def remove_member(self, project_id: str, user_id: str) -> None:
        self._discard("DELETE", "projects", project_id, "members", user_id)


class ServiceAccounts(Calls):
    def list(self, project_id: str) -> Pages[ServiceAccount]:
        return self._pages(ServiceAccount, *_accounts(project_id))

    def create(
        self,
        project_id: str,
        name: str,
        scopes: Sequence[str],
        expires_at: datetime | None = None,
        app_slugs: Sequence[str] | None = None,
    ) -> ServiceAccount:
        """The answer carries the first key with its secret, once. `apps:control` needs the slugs of its apps."""
        body = given(name=name, scopes=scopes, app_slugs=app_slugs, expires_at=moment(expires_at))
        return self._change("POST", ServiceAccount, *_accounts(project_id), body=body)

    def show(self, project_id: str, account_id: str) -> ServiceAccount:
        return self._read(ServiceAccount, *_accounts(project_id), account_id)

    def update(
        self,
        project_id: str,
        account_id: str,
        *,
        scopes: Sequence[str] | None = None,
        app_slugs: Sequence[str] | None = None,
        disabled: bool | None = None,
        expires_at: datetime | None = None,
        generation: int | None = None,
    ) -> ServiceAccount:
        body = given(scopes=scopes, app_slugs=app_slugs, disabled=disabled, expires_at=moment(expires_at))
        path = (*_accounts(project_id), account_id)
        return self._change("PATCH", ServiceAccount, *path, body=body, generation=generation)

    def keys(self, project_id: str, account_id: str) -> Pages[ServiceAccountKey]:
        return self._pages(ServiceAccountKey, *_accounts(project_id), account_id, "keys")

    def create_key(self, project_id: str, account_id: str, expires_at: datetime | None = None) -> ServiceAccountKey:
        path = (*_accounts(project_id), account_id, "keys")
        body = given(expires_at=moment(expires_at))
        return self._change("POST", ServiceAccountKey, *path, body=body)

    def delete_key(self, project_id: str, account_id: str, key_id: str) -> None:
        self._discard("DELETE", *_accounts(project_id), account_id, "keys", key_id)


def moment(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _accounts(project_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "service-accounts")
