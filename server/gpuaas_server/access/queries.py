"""SQL of SSH certificates, SSH keys and grants."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.access.rows import (
    CertificateRow,
    CertificateSerial,
    GrantRow,
    NewCertificate,
    RevokedCertificate,
    SshKeyRow,
)
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.json_text import as_json
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_optional,
    fetch_value,
    fetch_values,
    fields_of,
    recordset_insert,
    values_insert,
    values_of,
)

_GRANT = columns_of(GrantRow)
_SSH_KEY = columns_of(SshKeyRow)
_REVOKED = columns_of(RevokedCertificate)


async def certificates_insert(connection: Connection, news: Sequence[NewCertificate]) -> list[CertificateSerial]:
    """Insert the certificates, and return the serials that the database draws, each with its allocation."""
    return await fetch_all(
        connection,
        CertificateSerial,
        f"{recordset_insert('ssh_certificates', NewCertificate)} RETURNING {columns_of(CertificateSerial)}",
        (as_json([fields_of(new) for new in news]),),
    )


async def certificate_list(
    connection: Connection, project_id: str, allocation_id: str, before: int | None, limit: int
) -> list[CertificateRow]:
    return await fetch_all(
        connection,
        CertificateRow,
        f"SELECT {columns_of(CertificateRow)} FROM ssh_certificates"
        " WHERE project_id = %(project)s AND allocation_id = %(allocation)s"
        " AND (%(before)s::bigint IS NULL OR serial < %(before)s) ORDER BY serial DESC LIMIT %(limit)s",
        {"project": project_id, "allocation": allocation_id, "before": before, "limit": limit},
    )


async def certificate_holder(connection: Connection, allocation_id: str, serial: int) -> str | None:
    statement = "SELECT issued_to FROM ssh_certificates WHERE allocation_id = %s AND serial = %s"
    return await fetch_value(connection, str, statement, (allocation_id, serial))


async def certificates_revoke(
    connection: Connection, allocation_id: str, issued_to: str | None, serial: int | None, now: datetime
) -> list[int]:
    """Revoke those of the allocation that could still be used: of one holder, the one with the serial, or all."""
    revoked = await fetch_values(
        connection,
        int,
        "UPDATE ssh_certificates SET revoked_at = %(now)s"
        " WHERE allocation_id = %(allocation)s AND revoked_at IS NULL AND valid_before > %(now)s"
        " AND (%(holder)s::text IS NULL OR issued_to = %(holder)s)"
        " AND (%(serial)s::bigint IS NULL OR serial = %(serial)s) RETURNING serial",
        {"now": now, "allocation": allocation_id, "holder": issued_to, "serial": serial},
    )
    return sorted(revoked)


async def holder_certificates_revoke(
    connection: Connection, project_id: str | None, issued_to: str, now: datetime
) -> list[RevokedCertificate]:
    """Revoke the holder's certificates in one project, or everywhere."""
    return await fetch_all(
        connection,
        RevokedCertificate,
        "UPDATE ssh_certificates SET revoked_at = %(now)s WHERE issued_to = %(holder)s"
        " AND (%(project)s::text IS NULL OR project_id = %(project)s)"
        f" AND revoked_at IS NULL AND valid_before > %(now)s RETURNING {_REVOKED}",
        {"now": now, "holder": issued_to, "project": project_id},
    )


async def holder_grants_revoke(
    connection: Connection, project_id: str | None, granted_to: str, now: datetime
) -> list[GrantRow]:
    """Revoke the holder's grants in one project, or everywhere."""
    return await fetch_all(
        connection,
        GrantRow,
        "UPDATE ssh_grants SET revoked_at = %(now)s WHERE granted_to = %(holder)s"
        " AND (%(project)s::text IS NULL OR project_id = %(project)s)"
        f" AND revoked_at IS NULL AND expires_at > %(now)s RETURNING {_GRANT}",
        {"now": now, "holder": granted_to, "project": project_id},
    )


async def revoked_serials(
    connection: Connection, allocation_ids: Sequence[str], now: datetime
) -> list[RevokedCertificate]:
    """List what is revoked and not yet expired: an expired certificate needs no revocation any more."""
    return await fetch_all(
        connection,
        RevokedCertificate,
        f"SELECT {_REVOKED} FROM ssh_certificates"
        " WHERE allocation_id = ANY(%s) AND revoked_at IS NOT NULL AND valid_before > %s ORDER BY serial",
        (list(allocation_ids), now),
    )


async def ssh_key_insert(connection: Connection, row: SshKeyRow) -> bool:
    """Return False when this user has the key already."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('ssh_keys', SshKeyRow)} ON CONFLICT (user_id, fingerprint) DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def ssh_key_list(connection: Connection, user_id: str, page: PageRequest) -> list[SshKeyRow]:
    return await fetch_page(
        connection,
        SshKeyRow,
        f"SELECT {_SSH_KEY} FROM ssh_keys WHERE user_id = %s",
        (user_id,),
        page,
    )


async def ssh_keys_by_id(connection: Connection, user_id: str, key_ids: Sequence[str]) -> list[SshKeyRow]:
    return await fetch_all(
        connection,
        SshKeyRow,
        f"SELECT {_SSH_KEY} FROM ssh_keys WHERE user_id = %s AND id = ANY(%s)",
        (user_id, list(key_ids)),
    )


async def ssh_keys_delete(connection: Connection, user_id: str) -> None:
    await connection.execute("DELETE FROM ssh_keys WHERE user_id = %s", (user_id,))


async def ssh_key_delete(connection: Connection, user_id: str, key_id: str) -> str | None:
    """Delete the key, and return its fingerprint; None when the user has no such key."""
    statement = "DELETE FROM ssh_keys WHERE user_id = %s AND id = %s RETURNING fingerprint"
    return await fetch_value(connection, str, statement, (user_id, key_id))


async def grants_insert(connection: Connection, rows: Sequence[GrantRow]) -> None:
    documents = as_json([fields_of(row) for row in rows])
    await connection.execute(recordset_insert("ssh_grants", GrantRow), (documents,))


async def grant_list(connection: Connection, project_id: str, allocation_id: str, page: PageRequest) -> list[GrantRow]:
    return await fetch_page(
        connection,
        GrantRow,
        f"SELECT {_GRANT} FROM ssh_grants WHERE project_id = %s AND allocation_id = %s",
        (project_id, allocation_id),
        page,
    )


async def grants_live(connection: Connection, allocation_ids: Sequence[str], now: datetime) -> list[GrantRow]:
    return await fetch_all(
        connection,
        GrantRow,
        f"SELECT {_GRANT} FROM ssh_grants"
        " WHERE allocation_id = ANY(%s) AND revoked_at IS NULL AND expires_at > %s ORDER BY id",
        (list(allocation_ids), now),
    )


async def grant_revoke(
    connection: Connection, project_id: str, allocation_id: str, grant_id: str, now: datetime
) -> GrantRow | None:
    """Revoke the grant, and return it as it is now; None when it is not there, or was revoked before."""
    return await fetch_optional(
        connection,
        GrantRow,
        "UPDATE ssh_grants SET revoked_at = %s WHERE project_id = %s AND allocation_id = %s AND id = %s"
        f" AND revoked_at IS NULL RETURNING {_GRANT}",
        (now, project_id, allocation_id, grant_id),
    )


async def certificates_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    return await rows_removed(
        connection,
        "DELETE FROM ssh_certificates WHERE serial = ANY(ARRAY(SELECT serial FROM ssh_certificates"
        " WHERE valid_before < %s ORDER BY valid_before LIMIT %s))",
        (before, portion),
    )
