"""All SQL of publish intents and of the uploads to them."""

from datetime import datetime

from psycopg.types.json import Jsonb

from gpuaas_server.artifacts.rows import LiveUploads, PublishIntentRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.failures import FailureDocument
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)

_INTENT = columns_of(PublishIntentRow)
_INTENT_OF_PROJECT = f"SELECT {_INTENT} FROM publish_intents WHERE id = %s AND project_id = %s"


async def intent_insert(connection: Connection, row: PublishIntentRow) -> None:
    await connection.execute(values_insert("publish_intents", PublishIntentRow), values_of(row))


async def intent_show(connection: Connection, project_id: str, intent_id: str) -> PublishIntentRow | None:
    return await fetch_optional(connection, PublishIntentRow, _INTENT_OF_PROJECT, (intent_id, project_id))


async def intent_lock(connection: Connection, project_id: str, intent_id: str) -> PublishIntentRow | None:
    return await fetch_optional(
        connection, PublishIntentRow, f"{_INTENT_OF_PROJECT} FOR UPDATE", (intent_id, project_id)
    )


async def intent_load(connection: Connection, intent_id: str) -> PublishIntentRow | None:
    """Load the intent by its id alone: the worker does not know its project."""
    return await fetch_optional(
        connection, PublishIntentRow, f"SELECT {_INTENT} FROM publish_intents WHERE id = %s", (intent_id,)
    )


async def intent_list(
    connection: Connection, project_id: str, digest: str | None, page: PageRequest
) -> list[PublishIntentRow]:
    return await fetch_page(
        connection,
        PublishIntentRow,
        f"SELECT {_INTENT} FROM publish_intents WHERE project_id = %(project)s"
        " AND (%(digest)s::text IS NULL OR digest = %(digest)s)",
        {"project": project_id, "digest": digest},
        page,
    )


async def open_intent_count(connection: Connection, project_id: str) -> int:
    statement = "SELECT count(*) FROM publish_intents WHERE project_id = %s AND ended_at IS NULL"
    return await fetch_value(connection, int, statement, (project_id,)) or 0


async def intents_to_cancel(connection: Connection, project_id: str, portion: int) -> list[str]:
    return await fetch_values(
        connection,
        str,
        "SELECT id FROM publish_intents WHERE project_id = %s AND state = 'open' ORDER BY id LIMIT %s",
        (project_id, portion),
    )


async def unsettled_intent_count(connection: Connection, project_id: str, work: str) -> int:
    """Count the intents that are open, and those that have ended but whose bytes the worker has not looked at since."""
    unsettled = await fetch_value(
        connection,
        int,
        "SELECT count(*) FROM publish_intents i WHERE i.project_id = %s AND (i.ended_at IS NULL OR EXISTS"
        " (SELECT 1 FROM work_items w WHERE w.kind = %s AND w.subject = i.id))",
        (project_id, work),
    )
    return unsettled or 0


async def intent_start_verification(
    connection: Connection, intent_id: str, digest: str, deadline_at: datetime
) -> PublishIntentRow:
    return await fetch_one(
        connection,
        PublishIntentRow,
        "UPDATE publish_intents SET state = 'verifying', digest = %s, deadline_at = %s, generation = generation + 1,"
        " upload_token = NULL, upload_until = NULL"
        f" WHERE id = %s AND state = 'open' RETURNING {_INTENT}",
        (digest, deadline_at, intent_id),
    )


async def intent_end(
    connection: Connection,
    intent_id: str,
    state: str,
    now: datetime,
    failure: FailureDocument | None = None,
    artifact_id: str | None = None,
) -> PublishIntentRow | None:
    """End the intent and return it, or None when it has ended already."""
    return await fetch_optional(
        connection,
        PublishIntentRow,
        "UPDATE publish_intents SET state = %s, ended_at = %s, deadline_at = NULL, failure = %s, artifact_id = %s,"
        " upload_token = NULL, upload_until = NULL,"
        f" generation = generation + 1 WHERE id = %s AND ended_at IS NULL RETURNING {_INTENT}",
        (state, now, None if failure is None else Jsonb(failure), artifact_id, intent_id),
    )


async def intent_store_failure(connection: Connection, intent_id: str, failure: FailureDocument) -> None:
    await connection.execute("UPDATE publish_intents SET failure = %s WHERE id = %s", (Jsonb(failure), intent_id))


async def live_uploads(connection: Connection, tenant_id: str, project_id: str, now: datetime) -> LiveUploads:
    return await fetch_one(
        connection,
        LiveUploads,
        "SELECT count(*) FILTER (WHERE project_id = %s) AS in_project, count(*) AS in_tenant FROM publish_intents"
        " WHERE tenant_id = %s AND upload_token IS NOT NULL AND upload_until > %s",
        (project_id, tenant_id, now),
    )


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


async def parts_name_store(
    connection: Connection, intent_id: str, before: str | None, name: str
) -> PublishIntentRow | None:
    """Store what the store calls the upload in parts. None: the intent is not open, or another call was first."""
    return await fetch_optional(
        connection,
        PublishIntentRow,
        "UPDATE publish_intents SET parts_name = %s WHERE id = %s AND state = 'open'"
        f" AND parts_name IS NOT DISTINCT FROM %s RETURNING {_INTENT}",
        (name, intent_id, before),
    )


async def parts_renew(
    connection: Connection, intent_id: str, deadline_at: datetime, token: str | None, until: datetime | None
) -> bool:
    """Move the deadline of an open intent. With a token, its upload is in progress until then; else that stays."""
    renewed = await fetch_optional(
        connection,
        PublishIntentRow,
        "UPDATE publish_intents SET deadline_at = greatest(deadline_at, %s), upload_token = coalesce(%s, upload_token),"
        f" upload_until = coalesce(%s, upload_until) WHERE id = %s AND state = 'open' RETURNING {_INTENT}",
        (deadline_at, token, until, intent_id),
    )
    return renewed is not None


async def intents_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    deleted = await fetch_values(
        connection,
        str,
        "DELETE FROM publish_intents WHERE id IN"
        " (SELECT id FROM publish_intents WHERE ended_at < %s ORDER BY ended_at LIMIT %s) RETURNING id",
        (before, portion),
    )
    return len(deleted)
