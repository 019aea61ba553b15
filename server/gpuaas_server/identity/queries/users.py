"""SQL of users."""

from datetime import datetime

from gpuaas_server.identity.rows import UserPassword, UserRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_one, fetch_optional, fetch_values

_COLUMNS = columns_of(UserRow)


async def user_insert(
    connection: Connection,
    user_id: str,
    tenant_id: str | None,
    email: str,
    name: str,
    password_hash: str,
    now: datetime,
) -> UserRow | None:
    """Return the row, or None when the address is taken."""
    return await fetch_optional(
        connection,
        UserRow,
        "INSERT INTO users (id, tenant_id, email, name, password_hash, created_at)"
        f" VALUES (%s, %s, %s, %s, %s, %s)"
        f" ON CONFLICT ON CONSTRAINT users_one_per_email DO NOTHING RETURNING {_COLUMNS}",
        (user_id, tenant_id, email, name, password_hash, now),
    )


async def user_list(connection: Connection, tenant_id: str | None, page: PageRequest) -> list[UserRow]:
    return await fetch_page(
        connection,
        UserRow,
        f"SELECT {_COLUMNS} FROM users WHERE (%(tenant)s::text IS NULL OR tenant_id = %(tenant)s)"
        " AND deleted_at IS NULL",
        {"tenant": tenant_id},
        page,
    )


async def user_show(connection: Connection, user_id: str) -> UserRow | None:
    return await fetch_optional(
        connection, UserRow, f"SELECT {_COLUMNS} FROM users WHERE id = %s AND deleted_at IS NULL", (user_id,)
    )


async def user_of_email(connection: Connection, email: str) -> UserRow | None:
    return await fetch_optional(connection, UserRow, f"SELECT {_COLUMNS} FROM users WHERE email = %s", (email.lower(),))


async def user_emails(connection: Connection, user_ids: list[str]) -> list[str]:
    return await fetch_values(connection, str, "SELECT email FROM users WHERE id = ANY(%s)", (user_ids,))


async def oldest_admin(connection: Connection) -> UserRow | None:
    """Return the oldest of the users who hold platform_admin, disabled ones too."""
    return await fetch_optional(
        connection,
        UserRow,
        f"SELECT {_COLUMNS} FROM users WHERE id IN (SELECT user_id FROM role_bindings WHERE role = 'platform_admin')"
        " ORDER BY created_at, id LIMIT 1",
    )


async def user_lock(connection: Connection, user_id: str) -> UserRow | None:
    """Read the user as `user_show` does, and lock the row."""
    return await fetch_optional(
        connection, UserRow, f"SELECT {_COLUMNS} FROM users WHERE id = %s AND deleted_at IS NULL FOR UPDATE", (user_id,)
    )


async def user_update(connection: Connection, user_id: str, name: str, disabled: bool) -> UserRow:
    """Change a user. Disabling starts a new epoch: earlier tokens stay dead when the user is enabled again."""
    return await fetch_one(
        connection,
        UserRow,
        "UPDATE users SET name = %(name)s, disabled = %(disabled)s, generation = generation + 1,"
        " auth_epoch = auth_epoch + CASE WHEN %(disabled)s AND NOT disabled THEN 1 ELSE 0 END"
        f" WHERE id = %(id)s RETURNING {_COLUMNS}",
        {"id": user_id, "name": name, "disabled": disabled},
    )


async def password_read(connection: Connection, user_id: str) -> UserPassword | None:
    return await fetch_optional(
        connection, UserPassword, f"SELECT {columns_of(UserPassword)} FROM users WHERE id = %s", (user_id,)
    )


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
    """Remove everything but the id. `!` is no hash, so no password matches it."""
    await connection.execute("DELETE FROM role_bindings WHERE user_id = %s", (user_id,))
    await connection.execute("DELETE FROM sessions WHERE user_id = %s", (user_id,))
    await connection.execute("DELETE FROM browser_sessions WHERE user_id = %s", (user_id,))
    await connection.execute(
        "UPDATE users SET email = lower(id) || '@deleted.invalid', name = 'Deleted user', password_hash = '!',"
        " disabled = true, auth_epoch = auth_epoch + 1, generation = generation + 1, last_sign_in_at = NULL,"
        " deleted_at = %s WHERE id = %s",
        (now, user_id),
    )
