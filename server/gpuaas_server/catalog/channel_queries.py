"""The SQL of channels: canaries, the version that launches take, and what projects have chosen."""

from collections.abc import Sequence

from gpuaas_server.catalog.rows import ChannelRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import fetch_mapping, fetch_value, values_insert, values_of


async def canary_percent(connection: Connection, app_id: str) -> int | None:
    """Return the percentage of the app's canary; None: it has none."""
    return await fetch_value(
        connection, int, "SELECT canary_percent FROM app_versions WHERE app_id = %s AND status = 'canary'", (app_id,)
    )


async def canary_version(connection: Connection, app_id: str) -> str | None:
    return await fetch_value(
        connection, str, "SELECT id FROM app_versions WHERE app_id = %s AND status = 'canary'", (app_id,)
    )


async def channels_pinned(connection: Connection, project_id: str, app_ids: Sequence[str]) -> dict[str, str]:
    """Return what the project has chosen, by app."""
    return await fetch_mapping(
        connection,
        str,
        str,
        "SELECT app_id, channel FROM app_channels WHERE project_id = %s AND app_id = ANY(%s)",
        (project_id, list(app_ids)),
    )


async def channel_put(connection: Connection, row: ChannelRow) -> None:
    await connection.execute(
        f"{values_insert('app_channels', ChannelRow)} ON CONFLICT (app_id, project_id) DO UPDATE SET"
        " channel = excluded.channel, set_by = excluded.set_by, set_at = excluded.set_at",
        values_of(row),
    )


async def channel_delete(connection: Connection, app_id: str, project_id: str) -> None:
    await connection.execute("DELETE FROM app_channels WHERE app_id = %s AND project_id = %s", (app_id, project_id))


async def stable_version(connection: Connection, app_id: str) -> str | None:
    """Return the version that launches take now."""
    return await fetch_value(
        connection,
        str,
        "SELECT v.id FROM app_versions v JOIN apps a ON a.id = v.app_id WHERE v.app_id = %s AND v.status = 'active'"
        " ORDER BY v.id = a.stable_version_id DESC NULLS LAST, v.precedence DESC, v.id DESC LIMIT 1",
        (app_id,),
    )


async def point_to(connection: Connection, app_id: str, version_id: str, previous_id: str | None) -> None:
    """Have launches take this version. The caller has locked the app."""
    await connection.execute(
        "UPDATE apps SET stable_version_id = %s, previous_version_id = %s, generation = generation + 1 WHERE id = %s",
        (version_id, previous_id, app_id),
    )
