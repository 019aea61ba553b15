"""SQL that reads a caller whole: account, bindings or keys, in one round trip."""

from gpuaas_server.identity.rows import AccountPrincipalRow, UserPrincipalRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.rows import fetch_all, fetch_optional


async def user_principal(connection: Connection, user_id: str) -> UserPrincipalRow | None:
    return await fetch_optional(
        connection,
        UserPrincipalRow,
        "SELECT u.id, u.name, u.email, u.tenant_id, u.disabled, u.auth_epoch,"
        " EXISTS (SELECT 1 FROM tenants t WHERE t.id = u.tenant_id AND t.delete_after IS NOT NULL) AS deleting,"
        " (SELECT array_agg(ARRAY[b.role, b.tenant_id, b.project_id]) FROM role_bindings b"
        "  WHERE b.user_id = u.id) AS bindings FROM users u WHERE u.id = %s",
        (user_id,),
    )


async def service_account_principal(connection: Connection, account_id: str) -> list[AccountPrincipalRow]:
    """Return one row for each key, at least one."""
    return await fetch_all(
        connection,
        AccountPrincipalRow,
        "SELECT s.id, s.name, s.tenant_id, s.project_id, s.scopes, s.app_slugs, s.disabled, s.expires_at,"
        " s.certificate_required, (SELECT jsonb_agg(jsonb_build_array(c.thumbprint, extract(epoch FROM c.expires_at)))"
        "  FROM service_account_certificates c WHERE c.service_account_id = s.id) AS certificates,"
        " k.id AS key_id, k.expires_at AS key_expires_at, p.delete_after IS NOT NULL OR t.delete_after IS NOT NULL AS deleting"
        " FROM service_accounts s JOIN projects p ON p.id = s.project_id JOIN tenants t ON t.id = s.tenant_id"
        " LEFT JOIN service_account_keys k ON k.service_account_id = s.id AND NOT k.disabled"
        " WHERE s.id = %s",
        (account_id,),
    )
