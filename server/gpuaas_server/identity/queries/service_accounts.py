"""SQL of service accounts and their keys."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.identity.rows import KeyRow, NewKeyRow, NewServiceAccountRow, ServiceAccountRow, SignInKey
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_one,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)


async def service_account_insert(connection: Connection, row: NewServiceAccountRow) -> ServiceAccountRow | None:
    """Return the row, or None when the name is taken in this project."""
    return await fetch_optional(
        connection,
        ServiceAccountRow,
        f"{values_insert('service_accounts', NewServiceAccountRow)}"
        f" ON CONFLICT ON CONSTRAINT service_accounts_one_per_name DO NOTHING RETURNING {columns_of(ServiceAccountRow)}",
        values_of(row),
    )


async def apps_controlled(connection: Connection, account_id: str) -> list[str]:
    found = await fetch_value(
        connection,
        list[str],
        "SELECT app_slugs FROM service_accounts WHERE id = %s AND NOT disabled AND 'apps:control' = ANY(scopes)",
        (account_id,),
    )
    return found or []


async def service_account_list(connection: Connection, project_id: str, page: PageRequest) -> list[ServiceAccountRow]:
    return await fetch_page(
        connection,
        ServiceAccountRow,
        f"SELECT {columns_of(ServiceAccountRow)} FROM service_accounts WHERE project_id = %(project)s",
        {"project": project_id},
        page,
    )


async def service_account_by_name(connection: Connection, project_id: str, name: str) -> ServiceAccountRow | None:
    """Return the account of this name, locked."""
    return await fetch_optional(
        connection,
        ServiceAccountRow,
        f"SELECT {columns_of(ServiceAccountRow)} FROM service_accounts WHERE project_id = %s AND name = %s FOR UPDATE",
        (project_id, name),
    )


async def service_account_show(connection: Connection, project_id: str, account_id: str) -> ServiceAccountRow | None:
    return await fetch_optional(
        connection,
        ServiceAccountRow,
        f"SELECT {columns_of(ServiceAccountRow)} FROM service_accounts WHERE id = %s AND project_id = %s",
        (account_id, project_id),
    )


async def service_account_lock(connection: Connection, project_id: str, account_id: str) -> ServiceAccountRow | None:
    return await fetch_optional(
        connection,
        ServiceAccountRow,
        f"SELECT {columns_of(ServiceAccountRow)} FROM service_accounts WHERE id = %s AND project_id = %s FOR UPDATE",
        (account_id, project_id),
    )


async def app_slugs_change(connection: Connection, account_id: str, add: Sequence[str], remove: Sequence[str]) -> None:
    await connection.execute(
        "UPDATE service_accounts SET app_slugs = ARRAY(SELECT DISTINCT one FROM unnest(app_slugs || %(add)s::text[]) one"
        " WHERE one <> ALL(%(remove)s::text[]) ORDER BY one) WHERE id = %(id)s",
        {"id": account_id, "add": list(add), "remove": list(remove)},
    )


async def service_account_update(
    connection: Connection,
    account_id: str,
    scopes: Sequence[str],
    app_slugs: Sequence[str],
    disabled: bool,
    certificate_required: bool,
    expires_at: datetime | None,
) -> ServiceAccountRow:
    return await fetch_one(
        connection,
        ServiceAccountRow,
        "UPDATE service_accounts SET scopes = %s, app_slugs = %s, disabled = %s, certificate_required = %s,"
        " expires_at = %s, generation = generation + 1"
        f" WHERE id = %s RETURNING {columns_of(ServiceAccountRow)}",
        (list(scopes), list(app_slugs), disabled, certificate_required, expires_at, account_id),
    )


async def key_insert(connection: Connection, row: NewKeyRow) -> KeyRow:
    return await fetch_one(
        connection,
        KeyRow,
        f"{values_insert('service_account_keys', NewKeyRow)} RETURNING {columns_of(KeyRow)}",
        values_of(row),
    )


async def key_list(connection: Connection, account_id: str, page: PageRequest) -> list[KeyRow]:
    return await fetch_page(
        connection,
        KeyRow,
        f"SELECT {columns_of(KeyRow)} FROM service_account_keys WHERE service_account_id = %(account)s",
        {"account": account_id},
        page,
    )


async def key_count(connection: Connection, account_id: str, now: datetime) -> int:
    live = await fetch_value(
        connection,
        int,
        "SELECT count(*) FROM service_account_keys"
        " WHERE service_account_id = %s AND (expires_at IS NULL OR expires_at > %s)",
        (account_id, now),
    )
    return live or 0


async def key_update(connection: Connection, account_id: str, key_id: str, disabled: bool) -> KeyRow | None:
    return await fetch_optional(
        connection,
        KeyRow,
        "UPDATE service_account_keys SET disabled = %s WHERE id = %s AND service_account_id = %s"
        f" RETURNING {columns_of(KeyRow)}",
        (disabled, key_id, account_id),
    )


async def service_account_delete(connection: Connection, account_id: str) -> None:
    await connection.execute("DELETE FROM service_account_keys WHERE service_account_id = %s", (account_id,))
    await connection.execute("DELETE FROM service_account_certificates WHERE service_account_id = %s", (account_id,))
    await connection.execute("DELETE FROM service_accounts WHERE id = %s", (account_id,))


async def key_delete(connection: Connection, account_id: str, key_id: str) -> bool:
    cursor = await connection.execute(
        "DELETE FROM service_account_keys WHERE id = %s AND service_account_id = %s RETURNING id",
        (key_id, account_id),
    )
    return await cursor.fetchone() is not None


async def sign_in_keys(connection: Connection, account_id: str, now: datetime) -> list[SignInKey]:
    """Return the live keys of an account, with the account's own state in every row."""
    return await fetch_all(
        connection,
        SignInKey,
        "SELECT s.id, s.name, s.tenant_id, k.id AS key_id, k.digest, s.project_id, s.scopes, s.disabled,"
        " s.expires_at, s.certificate_required,"
        " (SELECT jsonb_agg(jsonb_build_array(c.thumbprint, extract(epoch FROM c.expires_at)))"
        "  FROM service_account_certificates c WHERE c.service_account_id = s.id) AS certificates,"
        " p.delete_after IS NOT NULL OR t.delete_after IS NOT NULL AS deleting"
        " FROM service_account_keys k JOIN service_accounts s ON s.id = k.service_account_id"
        " JOIN projects p ON p.id = s.project_id JOIN tenants t ON t.id = s.tenant_id"
        " WHERE s.id = %s AND NOT k.disabled AND (k.expires_at IS NULL OR k.expires_at > %s)",
        (account_id, now),
    )


async def key_used(connection: Connection, key_id: str, now: datetime) -> None:
    await connection.execute("UPDATE service_account_keys SET last_used_at = %s WHERE id = %s", (now, key_id))


async def project_of(connection: Connection, account_id: str) -> list[str]:
    return await fetch_values(connection, str, "SELECT project_id FROM service_accounts WHERE id = %s", (account_id,))
