"""SQL that reads a caller whole: account, bindings or keys, in one round trip."""

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection


async def user_principal(connection: Connection, user_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT u.id, u.name, u.email, u.tenant_id, u.disabled, u.auth_epoch,"
        " (SELECT array_agg(ARRAY[b.role, b.tenant_id, b.project_id]) FROM role_bindings b"
        "  WHERE b.user_id = u.id) AS bindings FROM users u WHERE u.id = %s",
        (user_id,),
    )
    return await cursor.fetchone()


async def service_account_principal(connection: Connection, account_id: str) -> list[DictRow]:
    """One row for each key, at least one."""
    cursor = await connection.execute(
        "SELECT s.id, s.name, s.tenant_id, s.project_id, s.scopes, s.app_slugs, s.disabled, s.expires_at,"
        " k.id AS key_id, k.expires_at AS key_expires_at"
        " FROM service_accounts s LEFT JOIN service_account_keys k ON k.service_account_id = s.id AND NOT k.disabled"
        " WHERE s.id = %s",
        (account_id,),
    )
    return await cursor.fetchall()
