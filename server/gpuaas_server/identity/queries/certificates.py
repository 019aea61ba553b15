"""SQL of the client certificates of service accounts."""

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.kernel.database import Connection

_COLUMNS = "id, thumbprint, authority_id, expires_at, created_by, created_at, last_used_at"


@dataclass(frozen=True, slots=True)
class NewCertificate:
    id: str
    service_account_id: str
    thumbprint: str
    authority_id: str
    expires_at: datetime


async def certificate_insert(
    connection: Connection, new: NewCertificate, tenant_id: str, created_by: str, now: datetime
) -> DictRow:
    cursor = await connection.execute(
        "INSERT INTO service_account_certificates"
        " (id, tenant_id, service_account_id, thumbprint, authority_id, expires_at, created_by, created_at)"
        f" VALUES (%s, %s, %s, %s, %s, %s, %s, %s) RETURNING {_COLUMNS}",
        (
            new.id,
            tenant_id,
            new.service_account_id,
            new.thumbprint,
            new.authority_id,
            new.expires_at,
            created_by,
            now,
        ),
    )
    row = await cursor.fetchone()
    return row or {}


async def certificate_list(connection: Connection, account_id: str, after: str | None, limit: int) -> list[DictRow]:
    cursor = await connection.execute(
        f"SELECT {_COLUMNS} FROM service_account_certificates WHERE service_account_id = %(account)s"
        " AND (%(after)s::text IS NULL OR id < %(after)s) ORDER BY id DESC LIMIT %(limit)s",
        {"account": account_id, "after": after, "limit": limit},
    )
    return await cursor.fetchall()


async def certificate_count(connection: Connection, account_id: str) -> int:
    cursor = await connection.execute(
        "SELECT count(*) AS found FROM service_account_certificates WHERE service_account_id = %s", (account_id,)
    )
    row = await cursor.fetchone()
    return int(row["found"]) if row else 0


async def certificates_delete_expired(connection: Connection, account_id: str, now: datetime) -> None:
    await connection.execute(
        "DELETE FROM service_account_certificates WHERE service_account_id = %s AND expires_at <= %s",
        (account_id, now),
    )


async def certificate_delete(connection: Connection, account_id: str, certificate_id: str) -> str | None:
    """The thumbprint of the certificate that is gone, or None when there was none."""
    cursor = await connection.execute(
        "DELETE FROM service_account_certificates WHERE id = %s AND service_account_id = %s RETURNING thumbprint",
        (certificate_id, account_id),
    )
    row = await cursor.fetchone()
    return None if row is None else str(row["thumbprint"])


async def certificates_of_authority(connection: Connection, authority_id: str, now: datetime) -> int:
    cursor = await connection.execute(
        "SELECT count(*) AS found FROM service_account_certificates WHERE authority_id = %s AND expires_at > %s",
        (authority_id, now),
    )
    row = await cursor.fetchone()
    return int(row["found"]) if row else 0


async def certificates_of_authority_delete(connection: Connection, authority_id: str) -> None:
    await connection.execute("DELETE FROM service_account_certificates WHERE authority_id = %s", (authority_id,))


async def certificate_used(connection: Connection, thumbprint: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE service_account_certificates SET last_used_at = %s WHERE thumbprint = %s", (now, thumbprint)
    )
