"""Who: the caller, users, tenants and their members."""

from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class RoleBinding:
    role: str
    tenant_id: str | None = None
    project_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class Me(Resource):
    id: str
    kind: str
    name: str = ""
    email: str | None = None
    tenant_id: str | None = None
    roles: list[RoleBinding] = field(default_factory=list)
    scopes: list[str] | None = None


@dataclass(frozen=True, kw_only=True)
class Tenant(Resource):
    id: str
    slug: str
    name: str = ""
    disabled: bool = False
    generation: int = 0
    created_at: datetime | None = None
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class User(Resource):
    """`initial_password` is there once, in the answer to a creation or a reset."""

    id: str
    email: str
    name: str = ""
    tenant_id: str | None = None
    disabled: bool = False
    roles: list[RoleBinding] = field(default_factory=list)
    last_sign_in_at: datetime | None = None
    generation: int = 0
    created_at: datetime | None = None
    initial_password: str | None = field(default=None, repr=False)
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Member(Resource):
    """A user in a role; `id` is the user's."""

    id: str
    role: str
    email: str = ""
    name: str = ""
    disabled: bool = False
    generation: int = 0
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SigningKey(Resource):
    """A key that signs access tokens (`verifies_until` is None), or still verifies older ones."""

    id: str
    created_at: datetime | None = None
    verifies_until: datetime | None = None


class Myself(Calls):
    def show(self) -> Me:
        return self._read(Me, "me")

    def change_password(self, current_password: str, new_password: str) -> None:
        body = {"current_password": current_password, "new_password": new_password}
        self._discard("POST", "me", "password", body=body)


class Tenants(Calls):
    def list(self) -> Pages[Tenant]:
        return self._pages(Tenant, "tenants")

    def create(self, slug: str, name: str) -> Tenant:
        return self._change("POST", Tenant, "tenants", body={"slug": slug, "name": name})

    def show(self, tenant_id: str) -> Tenant:
        return self._read(Tenant, "tenants", tenant_id)

    def update(
        self,
        tenant_id: str,
        *,
        name: str | None = None,
        disabled: bool | None = None,
        generation: int | None = None,
    ) -> Tenant:
        body = given(name=name, disabled=disabled)
        return self._change("PATCH", Tenant, "tenants", tenant_id, body=body, generation=generation)

    def members(self, tenant_id: str) -> Pages[Member]:
        return self._pages(Member, "tenants", tenant_id, "members")

    def set_member(self, tenant_id: str, user_id: str, role: str) -> Member:
        path = ("tenants", tenant_id, "members", user_id)
        return self._change("PUT", Member, *path, body={"role": role})

    def remove_member(self, tenant_id: str, user_id: str) -> None:
        self._discard("DELETE", "tenants", tenant_id, "members", user_id)


class Users(Calls):
    """Users of a tenant; `tenant_id=None` means those of the platform."""

    def list(self, tenant_id: str | None) -> Pages[User]:
        return self._pages(User, *_users(tenant_id))

    def create(self, tenant_id: str | None, email: str, name: str, password: str | None = None) -> User:
        """Without a password a random one is made and returned once as `initial_password`."""
        body = given(email=email, name=name, password=password)
        return self._change("POST", User, *_users(tenant_id), body=body)

    def show(self, tenant_id: str | None, user_id: str) -> User:
        return self._read(User, *_users(tenant_id), user_id)

    def update(
        self,
        tenant_id: str | None,
        user_id: str,
        *,
        name: str | None = None,
        disabled: bool | None = None,
        unlock: bool = False,
        reset_password: bool = False,
        generation: int | None = None,
    ) -> User:
        body = given(
            name=name,
            disabled=disabled,
            unlock=unlock or None,
            reset_password=reset_password or None,
        )
        path = (*_users(tenant_id), user_id)
        return self._change("PATCH", User, *path, body=body, generation=generation)

    def set_platform_role(self, user_id: str, role: str) -> None:
        self._discard("PUT", "users", user_id, "platform-role", body={"role": role})

    def remove_platform_role(self, user_id: str) -> None:
        self._discard("DELETE", "users", user_id, "platform-role")


class SigningKeys(Calls):
    """The keys behind access tokens; for platform administrators."""

    def list(self) -> Pages[SigningKey]:
        return self._pages(SigningKey, "auth", "keys")

    def rotate(self) -> SigningKey:
        """A new key signs from now on; tokens of the old one are good until they expire."""
        return self._change("POST", SigningKey, "auth", "keys")

    def revoke(self, key_id: str) -> None:
        """For a key that leaked: every token of it ends at once."""
        self._discard("DELETE", "auth", "keys", key_id)


def _users(tenant_id: str | None) -> tuple[str, ...]:
    return ("users",) if tenant_id is None else ("tenants", tenant_id, "users")
