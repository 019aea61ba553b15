"""All SQL of publish intents and of the uploads to them."""

from datetime import datetime
from typing import Any

from psycopg.rows import DictRow
from psycopg.types.json import Jsonb

from gpuaas_server.artifacts.queries import one_row
from gpuaas_server.kernel.database import Connection

_INTENT = (
    "id, tenant_id, project_id, kind, name, media_type, size_bytes, digest, state, deadline_at, failure, artifact_id,"
    " created_by, correlation_id, created_at, ended_at, generation, quota_held, reserved_bytes, upload_token, upload_until"
)


async def intent_insert(connection: Connection, values: dict[str, Any]) -> DictRow:
    cursor = await connection.execute(
        "INSERT INTO publish_intents (id, tenant_id, project_id, kind, name, media_type, size_bytes, state, deadline_at,"
        " created_by, correlation_id, created_at, quota_held, reserved_bytes) VALUES"
        " (%(id)s, %(tenant_id)s, %(project_id)s, %(kind)s, %(name)s,"
        " %(media_type)s, %(size_bytes)s, 'open', %(deadline_at)s, %(created_by)s, %(correlation_id)s, %(now)s,"
        f" true, %(reserved_bytes)s) RETURNING {_INTENT}",
        values,
    )
    return one_row(await cursor.fetchone())


async def intent_show(connection: Connection, project_id: str, intent_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_INTENT} FROM publish_intents WHERE id = %s AND project_id = %s", (intent_id, project_id)
    )
    return await cursor.fetchone()


async def intent_load(connection: Connection, intent_id: str) -> DictRow | None:
    """For the worker, which knows ids only."""
    cursor = await connection.execute(f"SELECT {_INTENT} FROM publish_intents WHERE id = %s", (intent_id,))
    return await cursor.fetchone()


async def intent_hold(connection: Connection, project_id: str, intent_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_INTENT} FROM publish_intents WHERE id = %s AND project_id = %s FOR UPDATE", (intent_id, project_id)
    )
    return await cursor.fetchone()


async def intent_list(connection: Connection, project_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_INTENT} FROM publish_intents WHERE project_id = %(project)s"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"project": project_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def intents_open(connection: Connection, project_id: str) -> int:
    cursor = await connection.execute(
        "SELECT count(*) AS open FROM publish_intents WHERE project_id = %s AND ended_at IS NULL", (project_id,)
    )
    return int(one_row(await cursor.fetchone())["open"])


async def intent_verifying(connection: Connection, intent_id: str, digest: str, deadline_at: datetime) -> DictRow:
    cursor = await connection.execute(
        "UPDATE publish_intents SET state = 'verifying', digest = %s, deadline_at = %s, generation = generation + 1"
        f" WHERE id = %s AND state = 'open' RETURNING {_INTENT}",
        (digest, deadline_at, intent_id),
    )
    return one_row(await cursor.fetchone())


async def intent_end(
    connection: Connection,
    intent_id: str,
    state: str,
    now: datetime,
    failure: dict[str, Any] | None = None,
    artifact_id: str | None = None,
) -> DictRow | None:
    """None when it has ended already."""
    cursor = await connection.execute(
        "UPDATE publish_intents SET state = %s, ended_at = %s, deadline_at = NULL, failure = %s, artifact_id = %s,"
        " upload_token = NULL, upload_until = NULL,"
        f" generation = generation + 1 WHERE id = %s AND ended_at IS NULL RETURNING {_INTENT}",
        (state, now, None if failure is None else Jsonb(failure), artifact_id, intent_id),
    )
    return await cursor.fetchone()


async def intent_delayed(connection: Connection, intent_id: str, failure: dict[str, Any]) -> None:
    await connection.execute("UPDATE publish_intents SET failure = %s WHERE id = %s", (Jsonb(failure), intent_id))


async def uploads_live(connection: Connection, tenant_id: str, project_id: str, now: datetime) -> tuple[int, int]:
    """Of the project, and of all of the tenant."""
    cursor = await connection.execute(
        "SELECT count(*) FILTER (WHERE project_id = %s) AS mine, count(*) AS of_all FROM publish_intents"
        " WHERE tenant_id = %s AND upload_token IS NOT NULL AND upload_until > %s",
        (project_id, tenant_id, now),
    )
    row = one_row(await cursor.fetchone())
    return row["mine"], row["of_all"]


async def upload_renew(
    connection: Connection, intent_id: str, token: str, until: datetime, reserved_bytes: int
) -> None:
    await connection.execute(
        "UPDATE publish_intents SET upload_token = %s, upload_until = %s, reserved_bytes = %s WHERE id = %s",
        (token, until, reserved_bytes, intent_id),
    )


async def upload_end(connection: Connection, intent_id: str, reserved_bytes: int) -> None:
    await connection.execute(
        "UPDATE publish_intents SET upload_token = NULL, upload_until = NULL, reserved_bytes = %s WHERE id = %s",
        (reserved_bytes, intent_id),
    )


async def intents_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    cursor = await connection.execute(
        "DELETE FROM publish_intents WHERE id IN"
        " (SELECT id FROM publish_intents WHERE ended_at < %s ORDER BY ended_at LIMIT %s) RETURNING id",
        (before, portion),
    )
    return len(await cursor.fetchall())
