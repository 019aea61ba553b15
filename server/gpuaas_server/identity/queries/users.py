"""SQL of users."""

from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_COLUMNS = "id, tenant_id, email, name, disabled, last_sign_in_at, created_at, generation"


async def user_insert(
    connection: Connection,
    user_id: str,
    tenant_id: str | None,
    email: str,
    name: str,
    password_hash: str,
    now: datetime,
) -> DictRow | None:
    """The row, or None when the address is taken."""
    cursor = await connection.execute(
        "INSERT INTO users (id, tenant_id, email, name, password_hash, created_at)"
        f" VALUES (%s, %s, %s, %s, %s, %s)"
        f" ON CONFLICT ON CONSTRAINT users_one_per_email DO NOTHING RETURNING {_COLUMNS}",
        (user_id, tenant_id, email, name, password_hash, now),
    )
    return await cursor.fetchone()


async def user_list(connection: Connection, tenant_id: str | None, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM users WHERE (%(tenant)s::text IS NULL OR tenant_id = %(tenant)s)"
        " AND deleted_at IS NULL"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"tenant": tenant_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def user_show(connection: Connection, user_id: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_COLUMNS} FROM users WHERE id = %s AND deleted_at IS NULL", (user_id,))
    return await cursor.fetchone()


async def user_of_email(connection: Connection, email: str) -> DictRow | None:
    cursor = await connection.execute(f"SELECT {_COLUMNS} FROM users WHERE email = %s", (email.lower(),))
    return await cursor.fetchone()


async def oldest_admin(connection: Connection) -> DictRow | None:
    """Of those who hold platform_admin, disabled ones too, the one who has been there for longest."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM users WHERE id IN (SELECT user_id FROM role_bindings WHERE role = 'platform_admin')"
        " ORDER BY created_at, id LIMIT 1"
    )
    return await cursor.fetchone()


async def user_hold(connection: Connection, user_id: str) -> DictRow | None:
    """As user_show, held against concurrent changes."""
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM users WHERE id = %s AND deleted_at IS NULL FOR UPDATE", (user_id,)
    )
    return await cursor.fetchone()


async def user_update(connection: Connection, user_id: str, name: str, disabled: bool) -> DictRow:
    """Disabling starts a new epoch: tokens from before stay dead when the user is enabled again."""
    cursor = await connection.execute(
        "UPDATE users SET name = %(name)s, disabled = %(disabled)s, generation = generation + 1,"
        " auth_epoch = auth_epoch + CASE WHEN %(disabled)s AND NOT disabled THEN 1 ELSE 0 END"
        f" WHERE id = %(id)s RETURNING {_COLUMNS}",
        {"id": user_id, "name": name, "disabled": disabled},
    )
    row = await cursor.fetchone()
    return row or {}


async def password_read(connection: Connection, user_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "SELECT email, name, tenant_id, password_hash, auth_epoch FROM users WHERE id = %s", (user_id,)
    )
    return await cursor.fetchone()


async def password_set(connection: Connection, user_id: str, password_hash: str, epoch: int | None) -> bool:
    """Store the hash and start a new epoch; with `epoch`, only when nobody changed it meanwhile."""
    cursor = await connection.execute(
        "UPDATE users SET password_hash = %(hash)s, auth_epoch = auth_epoch + 1, generation = generation + 1"
        " WHERE id = %(id)s AND (%(epoch)s::int IS NULL OR auth_epoch = %(epoch)s) RETURNING id",
        {"hash": password_hash, "id": user_id, "epoch": epoch},
    )
    return await cursor.fetchone() is not None


async def signed_in(connection: Connection, user_id: str, now: datetime) -> None:
    await connection.execute("UPDATE users SET last_sign_in_at = %s WHERE id = %s", (now, user_id))


async def user_delete(connection: Connection, user_id: str, now: datetime) -> None:
    """What is left is the id: nothing else says who it was. No hash is `!`, so no password opens it."""
    await connection.execute("DELETE FROM role_bindings WHERE user_id = %s", (user_id,))
    await connection.execute("DELETE FROM sessions WHERE user_id = %s", (user_id,))
    await connection.execute("DELETE FROM browser_sessions WHERE user_id = %s", (user_id,))
    await connection.execute(
        "UPDATE users SET email = lower(id) || '@deleted.invalid', name = 'Deleted user', password_hash = '!',"
        " disabled = true, auth_epoch = auth_epoch + 1, generation = generation + 1, last_sign_in_at = NULL,"
        " deleted_at = %s WHERE id = %s",
        (now, user_id),
    )
