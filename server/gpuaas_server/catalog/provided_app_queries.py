"""All SQL of the platform's own apps and their states. They belong to no tenant: every project reads them."""

from gpuaas_server.catalog.rows import ProvidedAppRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import columns_of, fetch_all, fetch_optional, values_insert, values_of


async def provided_app_lock(connection: Connection, name: str) -> ProvidedAppRow | None:
    return await fetch_optional(
        connection,
        ProvidedAppRow,
        f"SELECT {columns_of(ProvidedAppRow)} FROM provided_apps WHERE name = %s FOR UPDATE",
        (name,),
    )


async def provided_app_store(connection: Connection, row: ProvidedAppRow) -> None:
    await connection.execute(
        f"{values_insert('provided_apps', ProvidedAppRow)} ON CONFLICT (name) DO UPDATE SET"
        " display_name = excluded.display_name, state = excluded.state, detail = excluded.detail,"
        " reported_at = excluded.reported_at",
        values_of(row),
    )


async def provided_app_list(connection: Connection, limit: int) -> list[ProvidedAppRow]:
    return await fetch_all(
        connection,
        ProvidedAppRow,
        f"SELECT {columns_of(ProvidedAppRow)} FROM provided_apps ORDER BY name LIMIT %s",
        (limit,),
    )
