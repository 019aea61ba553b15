"""All SQL of credentials, their deliveries, and the certificates and grants that end with a credential or an operation."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.access.rows import CredentialRow, DeliveryRow, GrantRow, RevokedCertificate
from gpuaas_server.kernel.database import Connection, rows_removed
from gpuaas_server.kernel.ids import first_id_at
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    recordset_insert,
    values_insert,
    values_of,
)

_CREDENTIAL = columns_of(CredentialRow)
_REVOKED = columns_of(RevokedCertificate)
DELIVERY_INSERT = recordset_insert("credential_deliveries", DeliveryRow)


async def credential_insert(connection: Connection, row: CredentialRow) -> bool:
    """Return False when the project has a living credential of that name."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('access_credentials', CredentialRow)}"
        " ON CONFLICT (project_id, name) WHERE revoked_at IS NULL DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def credential_list(connection: Connection, project_id: str, page: PageRequest) -> list[CredentialRow]:
    return await fetch_page(
        connection,
        CredentialRow,
        f"SELECT {_CREDENTIAL} FROM access_credentials WHERE project_id = %s",
        (project_id,),
        page,
    )


async def credential_show(connection: Connection, project_id: str, credential_id: str) -> CredentialRow | None:
    return await fetch_optional(
        connection,
        CredentialRow,
        f"SELECT {_CREDENTIAL} FROM access_credentials WHERE project_id = %s AND id = %s",
        (project_id, credential_id),
    )


async def credential_lock(connection: Connection, project_id: str, credential_id: str) -> CredentialRow | None:
    return await fetch_optional(
        connection,
        CredentialRow,
        f"SELECT {_CREDENTIAL} FROM access_credentials WHERE project_id = %s AND id = %s FOR UPDATE",
        (project_id, credential_id),
    )


async def credential_rotate(
    connection: Connection, credential_id: str, version: int, public_key: str, fingerprint: str, now: datetime
) -> CredentialRow:
    return await fetch_one(
        connection,
        CredentialRow,
        "UPDATE access_credentials SET version = %s, generation = generation + 1, public_key = %s, fingerprint = %s,"
        f" rotated_at = %s WHERE id = %s RETURNING {_CREDENTIAL}",
        (version, public_key, fingerprint, now, credential_id),
    )


async def credential_revoke(connection: Connection, credential_id: str, now: datetime) -> CredentialRow:
    return await fetch_one(
        connection,
        CredentialRow,
        "UPDATE access_credentials SET revoked_at = %s, generation = generation + 1 WHERE id = %s"
        f" RETURNING {_CREDENTIAL}",
        (now, credential_id),
    )


async def grants_of_credential(connection: Connection, credential_id: str, now: datetime) -> list[GrantRow]:
    return await fetch_all(
        connection,
        GrantRow,
        f"SELECT {columns_of(GrantRow)} FROM ssh_grants"
        " WHERE granted_to = %s AND expires_at > %s AND revoked_at IS NULL ORDER BY id",
        (credential_id, now),
    )


async def grants_end(connection: Connection, grant_ids: Sequence[str], ends: datetime) -> None:
    """Let the grants end at `ends`, or when they would have ended anyway."""
    await connection.execute(
        "UPDATE ssh_grants SET expires_at = least(expires_at, %s) WHERE id = ANY(%s)", (ends, list(grant_ids))
    )


async def grants_revoke(connection: Connection, grant_ids: Sequence[str], now: datetime) -> None:
    await connection.execute("UPDATE ssh_grants SET revoked_at = %s WHERE id = ANY(%s)", (now, list(grant_ids)))


async def credential_certificates_revoke(
    connection: Connection, credential_id: str, now: datetime
) -> list[RevokedCertificate]:
    return await fetch_all(
        connection,
        RevokedCertificate,
        "UPDATE ssh_certificates SET revoked_at = %s WHERE access_credential_id = %s AND valid_before > %s"
        f" AND revoked_at IS NULL RETURNING {_REVOKED}",
        (now, credential_id, now),
    )


async def operation_access_lock(connection: Connection, operation_id: str) -> None:
    """Lock it until the transaction ends. A statement of its own: what follows sees what the last holder has committed."""
    await connection.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 13))", (operation_id,))


async def operation_certificates_revoke(
    connection: Connection, operation_id: str, now: datetime
) -> list[RevokedCertificate]:
    return await fetch_all(
        connection,
        RevokedCertificate,
        "UPDATE ssh_certificates SET revoked_at = %s WHERE operation_id = %s AND valid_before > %s"
        f" AND revoked_at IS NULL RETURNING {_REVOKED}",
        (now, operation_id, now),
    )


async def allocations_shut_to_operation(connection: Connection, operation_id: str, now: datetime) -> list[str]:
    """List the allocations whose hosts must know of a revoked certificate that would open them otherwise."""
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT allocation_id FROM ssh_certificates WHERE operation_id = %s AND valid_before > %s"
        " AND revoked_at IS NOT NULL ORDER BY allocation_id",
        (operation_id, now),
    )


async def deliveries_delete_before(connection: Connection, before: datetime, portion: int) -> int:
    """Delete the oldest first, over the primary key (ids sort by time). The database is told from when on rows are kept."""
    await connection.execute("SELECT set_config('gpuaas.deliveries_kept_from', %s, true)", (before.isoformat(),))
    removed = await rows_removed(
        connection,
        "DELETE FROM credential_deliveries WHERE id = ANY(ARRAY(SELECT id FROM credential_deliveries"
        " WHERE id < %s AND delivered_at < %s ORDER BY id LIMIT %s))",
        (first_id_at("dlv", before), before, portion),
    )
    await connection.execute("SELECT set_config('gpuaas.deliveries_kept_from', '', true)")
    return removed


async def delivery_list(connection: Connection, credential_id: str, page: PageRequest) -> list[DeliveryRow]:
    return await fetch_page(
        connection,
        DeliveryRow,
        f"SELECT {columns_of(DeliveryRow)} FROM credential_deliveries WHERE credential_id = %s",
        (credential_id,),
        page,
    )
