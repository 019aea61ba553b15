"""SQL of SSH certificates, SSH keys and grants."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection, rows_removed


@dataclass(frozen=True, slots=True)
class NewCertificate:
    tenant_id: str
    project_id: str
    allocation_id: str
    key_id: str
    issued_to: str
    fingerprint: str
    valid_before: datetime
    created_at: datetime
    access_credential_id: str | None
    operation_id: str | None


async def certificates_insert(connection: Connection, news: Sequence[NewCertificate]) -> list[DictRow]:
    """The serials that the database draws, each with its allocation."""
    columns = [[getattr(new, name) for new in news] for name in NewCertificate.__slots__]
    cursor = await connection.execute(
        f"INSERT INTO ssh_certificates ({', '.join(NewCertificate.__slots__)}) SELECT * FROM unnest(%s::text[],"
        " %s::text[], %s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::timestamptz[], %s::text[],"
        " %s::text[]) RETURNING serial, allocation_id, key_id",
        columns,
    )
    return await cursor.fetchall()


async def certificate_list(
    connection: Connection, project_id: str, allocation_id: str, before: int | None, limit: int
) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT serial, issued_to, fingerprint, valid_before, revoked_at, created_at, access_credential_id, operation_id"
        " FROM ssh_certificates"
        " WHERE project_id = %(project)s AND allocation_id = %(allocation)s"
        " AND (%(before)s::bigint IS NULL OR serial < %(before)s) ORDER BY serial DESC LIMIT %(limit)s",
        {"project": project_id, "allocation": allocation_id, "before": before, "limit": limit},
    )
    return await cursor.fetchall()


async def certificate_holder(connection: Connection, allocation_id: str, serial: int) -> str | None:
    cursor = await connection.execute(
        "SELECT issued_to FROM ssh_certificates WHERE allocation_id = %s AND serial = %s", (allocation_id, serial)
    )
    row = await cursor.fetchone()
    return None if row is None else str(row["issued_to"])


async def certificates_revoke(
    connection: Connection, allocation_id: str, issued_to: str | None, serial: int | None, now: datetime
) -> list[int]:
    """Those of the allocation that could still be used: of one holder, the one with the serial, or all."""
    cursor = await connection.execute(
        "UPDATE ssh_certificates SET revoked_at = %(now)s"
        " WHERE allocation_id = %(allocation)s AND revoked_at IS NULL AND valid_before > %(now)s"
        " AND (%(holder)s::text IS NULL OR issued_to = %(holder)s)"
        " AND (%(serial)s::bigint IS NULL OR serial = %(serial)s) RETURNING serial",
        {"now": now, "allocation": allocation_id, "holder": issued_to, "serial": serial},
    )
    return sorted(row["serial"] for row in await cursor.fetchall())


async def holder_certificates_revoke(
    connection: Connection, project_id: str | None, issued_to: str, now: datetime
) -> list[DictRow]:
    """In one project, or everywhere."""
    cursor = await connection.execute(
        "UPDATE ssh_certificates SET revoked_at = %(now)s WHERE issued_to = %(holder)s"
        " AND (%(project)s::text IS NULL OR project_id = %(project)s)"
        " AND revoked_at IS NULL AND valid_before > %(now)s RETURNING allocation_id, tenant_id, project_id, serial",
        {"now": now, "holder": issued_to, "project": project_id},
    )
    return await cursor.fetchall()


async def holder_grants_revoke(
    connection: Connection, project_id: str | None, granted_to: str, now: datetime
) -> list[DictRow]:
    """In one project, or everywhere."""
    cursor = await connection.execute(
        "UPDATE ssh_grants SET revoked_at = %(now)s WHERE granted_to = %(holder)s"
        " AND (%(project)s::text IS NULL OR project_id = %(project)s)"
        " AND revoked_at IS NULL AND expires_at > %(now)s RETURNING allocation_id, tenant_id, project_id, id",
        {"now": now, "holder": granted_to, "project": project_id},
    )
    return await cursor.fetchall()


async def revoked_serials(connection: Connection, allocation_ids: Sequence[str], now: datetime) -> list[DictRow]:
    """Revoked and not yet expired: an expired certificate needs no revocation any more."""
    cursor = await connection.execute(
        "SELECT allocation_id, serial FROM ssh_certificates"
        " WHERE allocation_id = ANY(%s) AND revoked_at IS NOT NULL AND valid_before > %s ORDER BY serial",
        (list(allocation_ids), now),
    )
    return await cursor.fetchall()


async def ssh_key_insert(connection: Connection, row: Sequence[object]) -> bool:
    """False when this user has the key already."""
    cursor = await connection.execute(
        "INSERT INTO ssh_keys (id, tenant_id, user_id, name, public_key, fingerprint, created_at)"
        " VALUES (%s, %s, %s, %s, %s, %s, %s) ON CONFLICT (user_id, fingerprint) DO NOTHING RETURNING id",
        row,
    )
    return await cursor.fetchone() is not None


async def ssh_key_list(connection: Connection, user_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, name, public_key, fingerprint, created_at FROM ssh_keys"
        " WHERE user_id = %s AND id < coalesce(%s, 'zzz') ORDER BY id DESC LIMIT %s",
        (user_id, after, limit),
    )
    return await cursor.fetchall()


async def ssh_keys_by_id(connection: Connection, user_id: str, key_ids: Sequence[str]) -> list[DictRow]:
    cursor = await connection.execute(
        "SELECT id, name, public_key, fingerprint, created_at FROM ssh_keys WHERE user_id = %s AND id = ANY(%s)",
        (user_id, list(key_ids)),
    )
    return await cursor.fetchall()


async def ssh_keys_delete(connection: Connection, user_id: str) -> None:
    await connection.execute("DELETE FROM ssh_keys WHERE user_id = %s", (user_id,))


async def ssh_key_delete(connection: Connection, user_id: str, key_id: str) -> DictRow | None:
    cursor = await connection.execute(
        "DELETE FROM ssh_keys WHERE user_id = %s AND id = %s RETURNING fingerprint", (user_id, key_id)
    )
    return await cursor.fetchone()


_GRANT = "id, allocation_id, granted_to, public_key, fingerprint, note, expires_at, revoked_at, created_at"


async def grants_insert(connection: Connection, rows: Sequence[Sequence[object]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)]
    await connection.execute(
        "INSERT INTO ssh_grants (id, tenant_id, project_id, allocation_id, granted_to, public_key, fingerprint,"
        " note, expires_at, created_at) SELECT * FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[],"
        " %s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::timestamptz[])",
        columns,
    )


async def grant_list(
    connection: Connection, project_id: str, allocation_id: str, after: str | None, limit: int
) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_GRANT} FROM ssh_grants WHERE project_id = %s AND allocation_id = %s"
        " AND id < coalesce(%s, 'zzz') ORDER BY id DESC LIMIT %s",
        (project_id, allocation_id, after, limit),
    )
    return await cursor.fetchall()


async def grants_live(connection: Connection, allocation_ids: Sequence[str], now: datetime) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_GRANT} FROM ssh_grants"
        " WHERE allocation_id = ANY(%s) AND revoked_at IS NULL AND expires_at > %s ORDER BY id",
        (list(allocation_ids), now),
    )
    return await cursor.fetchall()


async def grant_revoke(
    connection: Connection, project_id: str, allocation_id: str, grant_id: str, now: datetime
) -> DictRow | None:
    """The row as it is now; None when it is not there, or was revoked before."""
    cursor = await connection.execute(
        "UPDATE ssh_grants SET revoked_at = %s WHERE project_id = %s AND allocation_id = %s AND id = %s"
        f" AND revoked_at IS NULL RETURNING tenant_id, {_GRANT}",
        (now, project_id, allocation_id, grant_id),
    )
    return await cursor.fetchone()


async def certificates_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM ssh_certificates WHERE serial = ANY(ARRAY(SELECT serial FROM ssh_certificates"
        " WHERE valid_before < %s ORDER BY valid_before LIMIT %s))",
        (before, portion),
    )
