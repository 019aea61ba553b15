"""All SQL of controllers."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.controllers.rows import (
    BindingRow,
    ConsentedApp,
    ConsentRow,
    OfferRow,
    ReplicaRow,
)
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

_BINDING, _CONSENT, _REPLICA = columns_of(BindingRow), columns_of(ConsentRow), columns_of(ReplicaRow)
# Whether a consent (c) was given to the controller of a binding (b); the walls in sql/0126_kind_bindings.sql say the same.
_REACHES = "b.app_id = c.app_id AND (NOT c.to_platform OR b.kind_binding_id IS NOT NULL)"


async def binding_insert(connection: Connection, row: BindingRow) -> bool:
    """Return False when the account is bound to the app already."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('controller_bindings', BindingRow)}"
        " ON CONFLICT ON CONSTRAINT controller_bindings_one_per_account DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def binding_list(connection: Connection, project_id: str, page: PageRequest) -> list[BindingRow]:
    """List the newest first."""
    return await fetch_page(
        connection,
        BindingRow,
        f"SELECT {_BINDING} FROM controller_bindings WHERE project_id = %s",
        (project_id,),
        page,
    )


async def binding_delete(connection: Connection, project_id: str, binding_id: str) -> BindingRow | None:
    return await fetch_optional(
        connection,
        BindingRow,
        "DELETE FROM controller_bindings WHERE project_id = %s AND id = %s AND kind_binding_id IS NULL"
        f" RETURNING {_BINDING}",
        (project_id, binding_id),
    )


async def bindings_of_apps(connection: Connection, slugs: Sequence[str]) -> list[BindingRow]:
    """List the bindings of these apps that the connection may see, the oldest first."""
    return await fetch_all(
        connection,
        BindingRow,
        f"SELECT {_BINDING} FROM controller_bindings WHERE app_slug = ANY(%s) ORDER BY id",
        (list(slugs),),
    )


async def bound_by_own_project(connection: Connection, app_id: str, project_id: str) -> bool:
    """Tell whether a controller of the project that publishes the app is bound to it."""
    found = await fetch_value(
        connection,
        bool,
        "SELECT EXISTS (SELECT 1 FROM controller_bindings WHERE app_id = %s AND project_id = %s)",
        (app_id, project_id),
    )
    return bool(found)


async def accounts_leasing(connection: Connection, tenant_id: str, slug: str) -> list[str]:
    """List the service accounts that hold leases of the tenant's operations of the app."""
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT controller_id FROM app_operations WHERE lease_digest IS NOT NULL AND tenant_id = %s"
        " AND app_slug = %s",
        (tenant_id, slug),
    )


async def slugs_bound(connection: Connection, account_id: str) -> list[str]:
    """List the apps that the account is bound to."""
    return await fetch_values(
        connection, str, "SELECT app_slug FROM controller_bindings WHERE service_account_id = %s", (account_id,)
    )


async def consent_known(connection: Connection, tenant_id: str, slug: str) -> bool:
    """Tell whether the tenant has decided about the app's controller, also if it has withdrawn since."""
    found = await fetch_value(
        connection,
        bool,
        "SELECT EXISTS (SELECT 1 FROM controller_consents WHERE tenant_id = %s AND app_slug = %s)",
        (tenant_id, slug),
    )
    return bool(found)


async def consent_insert(connection: Connection, row: ConsentRow) -> None:
    await connection.execute(values_insert("controller_consents", ConsentRow).encode(), values_of(row))


async def consent_of(connection: Connection, tenant_id: str, slug: str, *, lock: bool = False) -> ConsentRow | None:
    """Return the tenant's consent to the app's controller, if it stands."""
    return await fetch_optional(
        connection,
        ConsentRow,
        f"SELECT {_CONSENT} FROM controller_consents WHERE tenant_id = %s AND app_slug = %s AND withdrawn_at IS NULL"
        f"{' FOR UPDATE' if lock else ''}",
        (tenant_id, slug),
    )


async def consent_to(connection: Connection, tenant_id: str, slug: str, account_id: str) -> ConsentRow | None:
    """Return the tenant's consent to this controller of the app, if it stands."""
    return await fetch_optional(
        connection,
        ConsentRow,
        f"SELECT {_CONSENT} FROM controller_consents c WHERE tenant_id = %s AND app_slug = %s AND withdrawn_at IS NULL"
        f" AND EXISTS (SELECT 1 FROM controller_bindings b WHERE {_REACHES} AND b.service_account_id = %s)",
        (tenant_id, slug, account_id),
    )


async def consents_of(connection: Connection, tenant_id: str, slugs: Sequence[str]) -> list[ConsentRow]:
    return await fetch_all(
        connection,
        ConsentRow,
        f"SELECT {_CONSENT} FROM controller_consents WHERE tenant_id = %s AND app_slug = ANY(%s)"
        " AND withdrawn_at IS NULL",
        (tenant_id, list(slugs)),
    )


async def consent_list(connection: Connection, tenant_id: str, page: PageRequest) -> list[ConsentRow]:
    """List the newest first, withdrawn ones too."""
    return await fetch_page(
        connection,
        ConsentRow,
        f"SELECT {_CONSENT} FROM controller_consents WHERE tenant_id = %s",
        (tenant_id,),
        page,
    )


async def consent_change(
    connection: Connection,
    consent_id: str,
    permissions: Sequence[str],
    project_ids: Sequence[str] | None,
    to_platform: bool,
) -> ConsentRow:
    return await fetch_one(
        connection,
        ConsentRow,
        "UPDATE controller_consents SET permissions = %s, project_ids = %s, to_platform = %s WHERE id = %s"
        f" RETURNING {_CONSENT}",
        (list(permissions), None if project_ids is None else list(project_ids), to_platform, consent_id),
    )


async def consent_withdraw(
    connection: Connection, tenant_id: str, consent_id: str, by: str, now: datetime, reason: str | None
) -> ConsentRow | None:
    """End the consent and return it; None when the tenant has no such consent that stands."""
    return await fetch_optional(
        connection,
        ConsentRow,
        "UPDATE controller_consents SET withdrawn_by = %s, withdrawn_at = %s, withdrawn_reason = %s"
        f" WHERE id = %s AND tenant_id = %s AND withdrawn_at IS NULL RETURNING {_CONSENT}",
        (by, now, reason, consent_id, tenant_id),
    )


async def consent_claim(connection: Connection, tenant_id: str, slug: str, account_id: str, now: datetime) -> bool:
    """Note that the account claims an operation of the tenant now. False: no consent to it stands any more.

    It waits for a withdrawal at the same moment, and a withdrawal waits for it.
    """
    found = await fetch_value(
        connection,
        str,
        "UPDATE controller_consents c SET last_claimed_at = %s WHERE tenant_id = %s AND app_slug = %s"
        f" AND withdrawn_at IS NULL AND EXISTS (SELECT 1 FROM controller_bindings b WHERE {_REACHES}"
        " AND b.service_account_id = %s) RETURNING id",
        (now, tenant_id, slug, account_id),
    )
    return found is not None


async def consented_apps(
    connection: Connection, account_id: str, tenant_id: str, project_id: str
) -> list[ConsentedApp]:
    """List what the account may control in the project by the tenant's consent. In the platform's scope."""
    return await fetch_all(
        connection,
        ConsentedApp,
        f"SELECT c.app_slug, c.permissions FROM controller_bindings b JOIN controller_consents c ON {_REACHES}"
        " WHERE b.service_account_id = %s AND c.tenant_id = %s AND c.withdrawn_at IS NULL"
        " AND (c.project_ids IS NULL OR %s = ANY(c.project_ids))",
        (account_id, tenant_id, project_id),
    )


async def leased_without_right(connection: Connection, account_id: str, own_apps: Sequence[str]) -> list[str]:
    """List the operations that the account holds the lease of and may not work on any more. In the platform's scope."""
    return await fetch_values(
        connection,
        str,
        "SELECT o.id FROM app_operations o WHERE o.controller_id = %(account)s AND o.lease_digest IS NOT NULL"
        " AND o.finished_at IS NULL AND NOT (o.app_slug = ANY(%(apps)s) AND ("
        " EXISTS (SELECT 1 FROM service_accounts s WHERE s.id = %(account)s AND s.project_id = o.project_id)"
        f" OR EXISTS (SELECT 1 FROM controller_consents c JOIN controller_bindings b ON {_REACHES}"
        "  WHERE c.tenant_id = o.tenant_id AND c.app_slug = o.app_slug AND c.withdrawn_at IS NULL"
        "  AND (c.project_ids IS NULL OR o.project_id = ANY(c.project_ids)) AND b.service_account_id = %(account)s)))"
        " ORDER BY o.id",
        {"account": account_id, "apps": list(own_apps)},
    )


async def offer_list(connection: Connection, tenant_id: str, slug: str | None, page: PageRequest) -> list[OfferRow]:
    """List the apps that the tenant may launch and whose publisher has bound a controller, newest first."""
    return await fetch_page(
        connection,
        OfferRow,
        "SELECT a.id, a.slug, a.display_name, a.tenant_id AS publisher_tenant_id,"
        " a.project_id AS publisher_project_id FROM apps a"
        " WHERE EXISTS (SELECT 1 FROM controller_bindings b WHERE b.app_id = a.id)"
        " AND (a.tenant_id = %(tenant)s OR a.visibility = 'public' OR (a.visibility = 'entitled' AND EXISTS"
        "  (SELECT 1 FROM entitlements e WHERE e.app_id = a.id AND e.tenant_id = %(tenant)s)))"
        " AND (%(slug)s::text IS NULL OR a.slug = %(slug)s)",
        {"tenant": tenant_id, "slug": slug},
        page,
        key="a.id",
    )


async def record_heartbeat(connection: Connection, row: ReplicaRow, stale_before: datetime) -> ReplicaRow:
    """Note that the replica is alive. One that was silent for long counts as begun anew."""
    return await fetch_one(
        connection,
        ReplicaRow,
        f"{values_insert('controller_replicas', ReplicaRow)} ON CONFLICT (service_account_id, app_slug, replica)"
        " DO UPDATE SET version = EXCLUDED.version, last_seen_at = EXCLUDED.last_seen_at, since = CASE WHEN"
        " controller_replicas.last_seen_at < %s THEN EXCLUDED.since ELSE controller_replicas.since END"
        f" RETURNING {_REPLICA}",
        [*values_of(row), stale_before],
    )


async def replica_gone(connection: Connection, account_id: str, slug: str, replica: str) -> None:
    await connection.execute(
        "DELETE FROM controller_replicas WHERE service_account_id = %s AND app_slug = %s AND replica = %s",
        (account_id, slug, replica),
    )


async def replicas_forget(connection: Connection, account_id: str, before: datetime) -> None:
    await connection.execute(
        "DELETE FROM controller_replicas WHERE service_account_id = %s AND last_seen_at < %s", (account_id, before)
    )


async def replica_list(connection: Connection, project_id: str, limit: int) -> list[ReplicaRow]:
    """List the replicas of the project's own controllers, the one seen last first."""
    return await fetch_all(
        connection,
        ReplicaRow,
        f"SELECT {_REPLICA} FROM controller_replicas WHERE project_id = %s ORDER BY last_seen_at DESC, replica LIMIT %s",
        (project_id, limit),
    )


async def replicas_of_apps(
    connection: Connection, project_id: str, slugs: Sequence[str], since: datetime
) -> list[ReplicaRow]:
    """List the replicas that serve this project as its own, or tenants that consent, and were seen since."""
    return await fetch_all(
        connection,
        ReplicaRow,
        f"SELECT {_REPLICA} FROM controller_replicas r WHERE r.app_slug = ANY(%(slugs)s) AND r.last_seen_at > %(since)s"
        " AND (r.project_id = %(project)s OR EXISTS (SELECT 1 FROM controller_bindings b"
        "  WHERE b.service_account_id = r.service_account_id AND b.app_slug = r.app_slug))",
        {"slugs": list(slugs), "since": since, "project": project_id},
    )
