"""SQL of service accounts and their keys."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_COLUMNS = (
    "id, tenant_id, project_id, name, scopes, app_slugs, disabled, expires_at, created_by, created_at, generation"
)
_KEY = "id, disabled, created_at, expires_at, last_used_at"


async def service_account_insert(
    connection: Connection,
    account_id: str,
    tenant_id: str,
    project_id: str,
    name: str,
    scopes: Sequence[str],
    app_slugs: Sequence[str],
    expires_at: datetime | None,
    created_by: str,
    now: datetime,
) -> DictRow | None:
    """The row, or None when the name is taken in this project."""
    cursor = await connection.execute(
        "INSERT INTO service_accounts"
        " (id, tenant_id, project_id, name, scopes, app_slugs, expires_at, created_by, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)"
        f" ON CONFLICT ON CONSTRAINT service_accounts_one_per_name DO NOTHING RETURNING {_COLUMNS}",
        (account_id, tenant_id, project_id, name, list(scopes), list(app_slugs), expires_at, created_by, now),
    )
    return await cursor.fetchone()


async def service_account_list(connection: Connection, project_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM service_accounts WHERE project_id = %(project)s"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"project": project_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def service_account_show(connection: Connection, project_id: str, account_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM service_accounts WHERE id = %s AND project_id = %s", (account_id, project_id)
    )
    return await cursor.fetchone()


async def service_account_hold(connection: Connection, project_id: str, account_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM service_accounts WHERE id = %s AND project_id = %s FOR UPDATE",
        (account_id, project_id),
    )
    return await cursor.fetchone()


async def service_account_update(
    connection: Connection,
    account_id: str,
    scopes: Sequence[str],
    app_slugs: Sequence[str],
    disabled: bool,
    expires_at: datetime | None,
) -> DictRow:
    cursor = await connection.execute(
        "UPDATE service_accounts SET scopes = %s, app_slugs = %s, disabled = %s, expires_at = %s,"
        " generation = generation + 1"
        f" WHERE id = %s RETURNING {_COLUMNS}",
        (list(scopes), list(app_slugs), disabled, expires_at, account_id),
    )
    row = await cursor.fetchone()
    return row or {}


async def key_insert(
    connection: Connection,
    key_id: str,
    account_id: str,
    tenant_id: str,
    digest: bytes,
    expires_at: datetime | None,
    now: datetime,
) -> DictRow:
    cursor = await connection.execute(
        "INSERT INTO service_account_keys (id, service_account_id, tenant_id, digest, expires_at, created_at)"
        f" VALUES (%s, %s, %s, %s, %s, %s) RETURNING {_KEY}",
        (key_id, account_id, tenant_id, digest, expires_at, now),
    )
    row = await cursor.fetchone()
    return row or {}


async def key_list(connection: Connection, account_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_KEY} FROM service_account_keys WHERE service_account_id = %(account)s"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"account": account_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def key_count(connection: Connection, account_id: str, now: datetime) -> int:
    cursor = await connection.execute(
        "SELECT count(*) AS live FROM service_account_keys"
        " WHERE service_account_id = %s AND (expires_at IS NULL OR expires_at > %s)",
        (account_id, now),
    )
    row = await cursor.fetchone()
    return int(row["live"]) if row else 0


async def key_update(connection: Connection, account_id: str, key_id: str, disabled: bool) -> DictRow | None:
    cursor = await connection.execute(
        f"UPDATE service_account_keys SET disabled = %s WHERE id = %s AND service_account_id = %s RETURNING {_KEY}",
        (disabled, key_id, account_id),
    )
    return await cursor.fetchone()


async def service_account_delete(connection: Connection, account_id: str) -> None:
    await connection.execute("DELETE FROM service_account_keys WHERE service_account_id = %s", (account_id,))
    await connection.execute("DELETE FROM service_accounts WHERE id = %s", (account_id,))


async def key_delete(connection: Connection, account_id: str, key_id: str) -> bool:
    cursor = await connection.execute(
        "DELETE FROM service_account_keys WHERE id = %s AND service_account_id = %s RETURNING id",
        (key_id, account_id),
    )
    return await cursor.fetchone() is not None


async def sign_in_keys(connection: Connection, account_id: str, now: datetime) -> list[DictRow]:
    """The live keys of an account, with the account's own state in every row."""
    cursor = await connection.execute(
        "SELECT k.id AS key_id, k.digest, s.name, s.tenant_id, s.project_id, s.scopes, s.disabled,"
        " s.expires_at FROM service_account_keys k JOIN service_accounts s ON s.id = k.service_account_id"
        " WHERE s.id = %s AND NOT k.disabled AND (k.expires_at IS NULL OR k.expires_at > %s)",
        (account_id, now),
    )
    return await cursor.fetchall()


async def key_used(connection: Connection, key_id: str, now: datetime) -> None:
    await connection.execute("UPDATE service_account_keys SET last_used_at = %s WHERE id = %s", (now, key_id))


async def project_of(connection: Connection, account_id: str) -> list[str]:
    cursor = await connection.execute("SELECT project_id FROM service_accounts WHERE id = %s", (account_id,))
    return [row["project_id"] for row in await cursor.fetchall()]
