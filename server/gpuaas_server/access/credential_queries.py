"""All SQL of credentials, their deliveries, and the certificates and grants that end with a credential or an operation."""

from collections.abc import Sequence
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.ids import first_id_at

_CREDENTIAL = (
    "id, tenant_id, project_id, name, kind, version, generation, secret_id, public_key, fingerprint, created_by,"
    " created_at, rotated_at, revoked_at"
)


async def credential_insert(connection: Connection, row: Sequence[object]) -> DictRow | None:
    """None when the project has a living credential of that name."""
    cursor = await connection.execute(
        "INSERT INTO access_credentials (id, tenant_id, project_id, name, kind, version, generation, secret_id,"
        " public_key, fingerprint, created_by, created_at) VALUES (%s, %s, %s, %s, %s, 1, 1, %s, %s, %s, %s, %s)"
        f" ON CONFLICT (project_id, name) WHERE revoked_at IS NULL DO NOTHING RETURNING {_CREDENTIAL}",
        row,
    )
    return await cursor.fetchone()


async def credential_list(connection: Connection, project_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_CREDENTIAL} FROM access_credentials WHERE project_id = %s AND id < coalesce(%s, 'zzz')"
        " ORDER BY id DESC LIMIT %s",
        (project_id, after, limit),
    )
    return await cursor.fetchall()


async def credential_show(connection: Connection, project_id: str, credential_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_CREDENTIAL} FROM access_credentials WHERE project_id = %s AND id = %s", (project_id, credential_id)
    )
    return await cursor.fetchone()


async def credential_hold(connection: Connection, project_id: str, credential_id: str) -> DictRow | None:
    cursor = await connection.execute(
        f"SELECT {_CREDENTIAL} FROM access_credentials WHERE project_id = %s AND id = %s FOR UPDATE",
        (project_id, credential_id),
    )
    return await cursor.fetchone()


async def credential_rotate(
    connection: Connection, credential_id: str, version: int, public_key: str, fingerprint: str, now: datetime
) -> DictRow:
    cursor = await connection.execute(
        "UPDATE access_credentials SET version = %s, generation = generation + 1, public_key = %s, fingerprint = %s,"
        f" rotated_at = %s WHERE id = %s RETURNING {_CREDENTIAL}",
        (version, public_key, fingerprint, now, credential_id),
    )
    return (await cursor.fetchall())[0]


async def credential_revoke(connection: Connection, credential_id: str, now: datetime) -> DictRow:
    cursor = await connection.execute(
        "UPDATE access_credentials SET revoked_at = %s, generation = generation + 1 WHERE id = %s"
        f" RETURNING {_CREDENTIAL}",
        (now, credential_id),
    )
    return (await cursor.fetchall())[0]


async def grants_of_credential(connection: Connection, credential_id: str, now: datetime) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, tenant_id, project_id, allocation_id, note, expires_at FROM ssh_grants"
        " WHERE granted_to = %s AND expires_at > %s AND revoked_at IS NULL ORDER BY id",
        (credential_id, now),
    )
    return await cursor.fetchall()


async def grants_end(connection: Connection, grant_ids: Sequence[str], ends: datetime) -> None:
    """At `ends`, or when they would have ended anyway."""
    await connection.execute(
        "UPDATE ssh_grants SET expires_at = least(expires_at, %s) WHERE id = ANY(%s)", (ends, list(grant_ids))
    )


async def grants_revoke(connection: Connection, grant_ids: Sequence[str], now: datetime) -> None:
    await connection.execute("UPDATE ssh_grants SET revoked_at = %s WHERE id = ANY(%s)", (now, list(grant_ids)))


async def credential_certificates_revoke(connection: Connection, credential_id: str, now: datetime) -> list[DictRow]:
    cursor = await connection.execute(
        "UPDATE ssh_certificates SET revoked_at = %s WHERE access_credential_id = %s AND valid_before > %s"
        " AND revoked_at IS NULL RETURNING allocation_id, serial",
        (now, credential_id, now),
    )
    return await cursor.fetchall()


async def operation_access_lock(connection: Connection, operation_id: str) -> None:
    """Until the transaction ends. A statement of its own: what follows sees what the holder before us has committed."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 13))", (operation_id,))


async def operation_certificates_revoke(connection: Connection, operation_id: str, now: datetime) -> list[DictRow]:
    cursor = await connection.execute(
        "UPDATE ssh_certificates SET revoked_at = %s WHERE operation_id = %s AND valid_before > %s"
        " AND revoked_at IS NULL RETURNING allocation_id, tenant_id, project_id, serial",
        (now, operation_id, now),
    )
    return await cursor.fetchall()


async def allocations_shut_to_operation(connection: Connection, operation_id: str, now: datetime) -> list[str]:
    """Those whose hosts must know of a revoked certificate that would open them otherwise."""
    cursor = await connection.execute(
        "SELECT DISTINCT allocation_id FROM ssh_certificates WHERE operation_id = %s AND valid_before > %s"
        " AND revoked_at IS NOT NULL ORDER BY allocation_id",
        (operation_id, now),
    )
    return [row["allocation_id"] for row in await cursor.fetchall()]


_DELIVERY = (
    "id, credential_id, version, delivered_to, recipient_fingerprint, allocation_id, serial,"
    " correlation_id, delivered_at"
)
DELIVERY_INSERT = (
    f"INSERT INTO credential_deliveries (tenant_id, project_id, {_DELIVERY})"
    f" SELECT tenant_id, project_id, {_DELIVERY} FROM jsonb_to_recordset(%s::jsonb) AS r(tenant_id text,"
    " project_id text, id text, credential_id text, version integer, delivered_to text, recipient_fingerprint text,"
    " allocation_id text, serial bigint, correlation_id text, delivered_at timestamptz)"
)


async def deliveries_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """The oldest first, over the primary key (ids sort by time). Says to the database from when on rows are kept."""
    await connection.execute("SELECT set_config('gpuaas.deliveries_kept_from', %s, true)", (before.isoformat(),))
    removed = await rows_removed(
        connection,
        "DELETE FROM credential_deliveries WHERE id = ANY(ARRAY(SELECT id FROM credential_deliveries"
        " WHERE id < %s AND delivered_at < %s ORDER BY id LIMIT %s))",
        (first_id_at("dlv", before), before, portion),
    )
    await connection.execute("SELECT set_config('gpuaas.deliveries_kept_from', '', true)")
    return removed


async def delivery_list(connection: Connection, credential_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_DELIVERY} FROM credential_deliveries WHERE credential_id = %s AND id < coalesce(%s, 'zzz')"
        " ORDER BY id DESC LIMIT %s",
        (credential_id, after, limit),
    )
    return await cursor.fetchall()
