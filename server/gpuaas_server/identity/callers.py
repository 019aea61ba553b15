"""Read a caller whole from the database: the account with its bindings, or its scopes and keys."""

from gpuaas_server.identity.certificate_rules import rules_of
from gpuaas_server.identity.principals import (
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
    return user_principal(row, [Binding(*binding) for binding in row.bindings or ()])


async def _service_account(connection: Connection, account_id: str) -> Principal | None:
    rows = await queries.service_account_principal(connection, account_id)
    if not rows:
        return None
    row = rows[0]
    state = ServiceAccountState(
        id=row.id,
        name=row.name,
        tenant_id=row.tenant_id,
        project_id=row.project_id,
        scopes=frozenset(row.scopes),
        app_slugs=frozenset(row.app_slugs),
        disabled=row.disabled,
        deleting=row.deleting,
        expires_at=row.expires_at,
        certificates=rules_of(row.certificate_required, row.certificates),
        keys={each.key_id: each.key_expires_at for each in rows if each.key_id is not None},
    )
    return service_account_principal(state)
