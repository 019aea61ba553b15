"""SQL of role bindings. A place is (tenant_id, project_id); both NULL is the platform."""

from datetime import datetime

from gpuaas_server.identity.rows import BindingState, MemberRow, UserBinding
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_one, fetch_optional, fetch_value, fetch_values

_ADMIN_LOCK = 0x6770_7502  # serialises the making of the first administrator across replicas
_AT_PLACE = "b.tenant_id IS NOT DISTINCT FROM %(tenant)s AND b.project_id IS NOT DISTINCT FROM %(project)s"
_SELECT_MEMBER = (
    "SELECT b.user_id AS id, u.email, u.name, u.disabled, b.role, b.created_at, b.generation"
    " FROM role_bindings b JOIN users u ON u.id = b.user_id"
)


async def first_admin_lock(connection: Connection) -> None:
    await connection.execute("SELECT pg_advisory_xact_lock(%s)", (_ADMIN_LOCK,))


async def platform_admin_exists(connection: Connection) -> bool:
    found = await fetch_value(
        connection, bool, "SELECT EXISTS (SELECT 1 FROM role_bindings WHERE role = 'platform_admin')"
    )
    return bool(found)


async def member_list(
    connection: Connection, tenant_id: str | None, project_id: str | None, page: PageRequest
) -> list[MemberRow]:
    return await fetch_page(
        connection,
        MemberRow,
        f"{_SELECT_MEMBER} WHERE {_AT_PLACE}",
        {"tenant": tenant_id, "project": project_id},
        page,
        key="b.user_id",
    )


async def member_lock(
    connection: Connection, user_id: str, tenant_id: str | None, project_id: str | None
) -> MemberRow | None:
    return await fetch_optional(
        connection,
        MemberRow,
        f"{_SELECT_MEMBER} WHERE b.user_id = %(user)s AND {_AT_PLACE} FOR UPDATE OF b",
        {"user": user_id, "tenant": tenant_id, "project": project_id},
    )


async def member_set(
    connection: Connection,
    binding_id: str,
    user_id: str,
    role: str,
    tenant_id: str | None,
    project_id: str | None,
    now: datetime,
) -> BindingState:
    return await fetch_one(
        connection,
        BindingState,
        "INSERT INTO role_bindings AS b (id, user_id, role, tenant_id, project_id, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s) ON CONFLICT ON CONSTRAINT role_bindings_one_per_place"
        " DO UPDATE SET role = EXCLUDED.role, generation = b.generation + 1"
        f" RETURNING {columns_of(BindingState)}",
        (binding_id, user_id, role, tenant_id, project_id, now),
    )


async def member_remove(connection: Connection, user_id: str, tenant_id: str | None, project_id: str | None) -> None:
    await connection.execute(
        f"DELETE FROM role_bindings b WHERE b.user_id = %(user)s AND {_AT_PLACE}",
        {"user": user_id, "tenant": tenant_id, "project": project_id},
    )


async def admins_lock(connection: Connection, tenant_id: str | None) -> None:
    """Take this lock before any row: two administrators that remove each other must queue, not deadlock."""
    await connection.execute(
        "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", (f"admins:{tenant_id or 'platform'}",)
    )


async def admins(connection: Connection, role: str, tenant_id: str | None) -> list[str]:
    """Return the users who hold the role and can act."""
    return await fetch_values(
        connection,
        str,
        "SELECT b.user_id FROM role_bindings b JOIN users u ON u.id = b.user_id WHERE b.role = %s"
        " AND b.tenant_id IS NOT DISTINCT FROM %s AND NOT u.disabled",
        (role, tenant_id),
    )


async def user_bindings(connection: Connection, user_ids: list[str]) -> list[UserBinding]:
    return await fetch_all(
        connection,
        UserBinding,
        f"SELECT {columns_of(UserBinding)} FROM role_bindings WHERE user_id = ANY(%s) ORDER BY id",
        (user_ids,),
    )
