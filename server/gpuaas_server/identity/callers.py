"""Read a caller whole from the database: the account with its bindings, or its scopes and keys."""

from gpuaas_server.identity.principals import (
    Account,
    Binding,
    Principal,
    ServiceAccountState,
    service_account_principal,
    user_principal,
)
from gpuaas_server.identity.queries import principals as queries
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.ids import is_id


async def read_principal(connection: Connection, principal_id: str) -> Principal | None:
    if is_id("usr", principal_id):
        return await _user(connection, principal_id)
    if is_id("sva", principal_id):
        return await _service_account(connection, principal_id)
    return None


async def _user(connection: Connection, user_id: str) -> Principal | None:
    row = await queries.user_principal(connection, user_id)
    if row is None:
        return None
    bindings = [Binding(*binding) for binding in row.pop("bindings") or ()]
    return user_principal(Account(**row), bindings)


async def _service_account(connection: Connection, account_id: str) -> Principal | None:
    rows = await queries.service_account_principal(connection, account_id)
    if not rows:
        return None
    row = rows[0]
    state = ServiceAccountState(
        id=row["id"],
        name=row["name"],
        tenant_id=row["tenant_id"],
        project_id=row["project_id"],
        scopes=frozenset(row["scopes"]),
        app_slugs=frozenset(row["app_slugs"]),
        disabled=row["disabled"],
        expires_at=row["expires_at"],
        keys={r["key_id"]: r["key_expires_at"] for r in rows if r["key_id"] is not None},
    )
    return service_account_principal(state)
