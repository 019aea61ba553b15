"""SQL of the client certificates of service accounts."""

from datetime import datetime

from gpuaas_server.identity.rows import CertificateRow, NewCertificateRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import columns_of, fetch_one, fetch_value, values_insert, values_of


async def certificate_insert(connection: Connection, row: NewCertificateRow) -> CertificateRow:
    return await fetch_one(
        connection,
        CertificateRow,
        f"{values_insert('service_account_certificates', NewCertificateRow)} RETURNING {columns_of(CertificateRow)}",
        values_of(row),
    )


async def certificate_list(connection: Connection, account_id: str, page: PageRequest) -> list[CertificateRow]:
    return await fetch_page(
        connection,
        CertificateRow,
        f"SELECT {columns_of(CertificateRow)} FROM service_account_certificates WHERE service_account_id = %(account)s",
        {"account": account_id},
        page,
    )


async def certificate_count(connection: Connection, account_id: str) -> int:
    found = await fetch_value(
        connection,
        int,
        "SELECT count(*) FROM service_account_certificates WHERE service_account_id = %s",
        (account_id,),
    )
    return found or 0


async def certificates_delete_expired(connection: Connection, account_id: str, now: datetime) -> None:
    await connection.execute(
        "DELETE FROM service_account_certificates WHERE service_account_id = %s AND expires_at <= %s",
        (account_id, now),
    )


async def certificate_delete(connection: Connection, account_id: str, certificate_id: str) -> str | None:
    """Delete the certificate and return its thumbprint; None if there was none."""
    return await fetch_value(
        connection,
        str,
        "DELETE FROM service_account_certificates WHERE id = %s AND service_account_id = %s RETURNING thumbprint",
        (certificate_id, account_id),
    )


async def certificates_of_authority(connection: Connection, authority_id: str, now: datetime) -> int:
    found = await fetch_value(
        connection,
        int,
        "SELECT count(*) FROM service_account_certificates WHERE authority_id = %s AND expires_at > %s",
        (authority_id, now),
    )
    return found or 0


async def certificates_of_authority_delete(connection: Connection, authority_id: str) -> None:
    await connection.execute("DELETE FROM service_account_certificates WHERE authority_id = %s", (authority_id,))


async def certificate_used(connection: Connection, thumbprint: str, now: datetime) -> None:
    await connection.execute(
        "UPDATE service_account_certificates SET last_used_at = %s WHERE thumbprint = %s", (now, thumbprint)
    )
