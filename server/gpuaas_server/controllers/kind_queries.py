"""SQL of kind bindings, of the bindings that follow from them, and of the tenants that get the platform's apps."""

from collections.abc import Sequence

from gpuaas_server.controllers.machine import ServedAppFacts
from gpuaas_server.controllers.rows import BindingRow, KindBindingRow
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.pages import PageRequest, fetch_page
from gpuaas_server.kernel.rows import (
    columns_of,
    fetch_all,
    fetch_optional,
    fetch_value,
    fetch_values,
    values_insert,
    values_of,
)

_KIND = columns_of(KindBindingRow)
# Somebody may run these. A draft gives the platform's controller nothing to do unless its publisher tries it.
_RUN = "(v.status IN ('canary', 'active', 'deprecated') OR (v.status = 'draft' AND v.trial_since IS NOT NULL))"


@dataclass(frozen=True, slots=True)
class AppFacts:
    id: str
    slug: str
    tenant_id: str
    of_platform: bool
    own_bindings: int


_APP = (
    "SELECT a.id, a.slug, a.tenant_id, p.platform AS of_platform, (SELECT count(*) FROM controller_bindings b"
    " WHERE b.app_id = a.id AND b.kind_binding_id IS NULL) AS own_bindings FROM apps a JOIN projects p ON p.id = a.project_id"
)


async def kind_binding_insert(connection: Connection, row: KindBindingRow) -> bool:
    """Return False when the account is bound to the kind already."""
    inserted = await fetch_value(
        connection,
        str,
        f"{values_insert('controller_kind_bindings', KindBindingRow)}"
        " ON CONFLICT ON CONSTRAINT controller_kind_bindings_one_per_account DO NOTHING RETURNING id",
        values_of(row),
    )
    return inserted is not None


async def kind_binding_list(connection: Connection, project_id: str, page: PageRequest) -> list[KindBindingRow]:
    """List the newest first."""
    return await fetch_page(
        connection,
        KindBindingRow,
        f"SELECT {_KIND} FROM controller_kind_bindings WHERE project_id = %s",
        (project_id,),
        page,
    )


async def kind_binding_delete(connection: Connection, project_id: str, binding_id: str) -> KindBindingRow | None:
    """Delete it, with the bindings that follow from it."""
    return await fetch_optional(
        connection,
        KindBindingRow,
        f"DELETE FROM controller_kind_bindings WHERE project_id = %s AND id = %s RETURNING {_KIND}",
        (project_id, binding_id),
    )


async def bindings_of_kind_binding(connection: Connection, binding_id: str) -> list[BindingRow]:
    """List the bindings that follow from it."""
    return await fetch_all(
        connection,
        BindingRow,
        f"SELECT {columns_of(BindingRow)} FROM controller_bindings WHERE kind_binding_id = %s ORDER BY id",
        (binding_id,),
    )


async def apps_of_kind_binding(connection: Connection, binding_id: str) -> list[str]:
    """List the apps with a version of its kind that somebody may run. In the platform's scope."""
    return await fetch_values(
        connection,
        str,
        "SELECT DISTINCT v.app_id FROM controller_kind_bindings k JOIN app_versions v ON v.artifact_kind = k.artifact_kind"
        f" WHERE k.id = %s AND {_RUN}",
        (binding_id,),
    )


async def derived_binding_delete(connection: Connection, binding_id: str) -> None:
    await connection.execute(
        "DELETE FROM controller_bindings WHERE id = %s AND kind_binding_id IS NOT NULL", (binding_id,)
    )


async def served_app(connection: Connection, app_id: str) -> ServedAppFacts | None:
    """Load an app, locked, with its bindings and the kind bindings of its kinds. In the platform's scope."""
    app = await fetch_optional(connection, AppFacts, f"{_APP} WHERE a.id = %s FOR UPDATE OF a", (app_id,))
    if app is None:
        return None
    derived = await fetch_all(
        connection,
        BindingRow,
        f"SELECT {columns_of(BindingRow)} FROM controller_bindings WHERE app_id = %s AND kind_binding_id IS NOT NULL",
        (app_id,),
    )
    offered = await fetch_all(
        connection,
        KindBindingRow,
        f"SELECT {_KIND} FROM controller_kind_bindings k WHERE EXISTS (SELECT 1 FROM app_versions v"
        f" WHERE v.app_id = %s AND v.artifact_kind = k.artifact_kind AND {_RUN}) ORDER BY id",
        (app_id,),
    )
    return _facts(app, derived, offered)


async def platform_apps_served(connection: Connection) -> list[ServedAppFacts]:
    """List the platform's own apps that a controller is bound to. In the platform's scope."""
    rows = await fetch_all(
        connection,
        AppFacts,
        f"{_APP} WHERE p.platform AND EXISTS (SELECT 1 FROM controller_bindings b WHERE b.app_id = a.id) ORDER BY a.id",
        (),
    )
    return [_facts(row, (), ()) for row in rows]


def _facts(app: AppFacts, derived: Sequence[BindingRow], offered: Sequence[KindBindingRow]) -> ServedAppFacts:
    return ServedAppFacts(app.id, app.slug, app.tenant_id, app.of_platform, app.own_bindings, derived, offered)


async def tenants_without_app(connection: Connection, app_id: str, limit: int) -> list[str]:
    """List tenants that have never decided about the app's controller. In the platform's scope."""
    return await fetch_values(
        connection,
        str,
        "SELECT t.id FROM tenants t WHERE t.delete_after IS NULL AND NOT EXISTS (SELECT 1 FROM controller_consents c"
        " WHERE c.app_id = %s AND c.tenant_id = t.id) ORDER BY t.id LIMIT %s",
        (app_id, limit),
    )


async def publisher_without_consent(connection: Connection, app_id: str) -> list[str]:
    """Return the publisher's own tenant, if a controller of its kind serves its app and it never withdrew from that one."""
    return await fetch_values(
        connection,
        str,
        "SELECT a.tenant_id FROM apps a WHERE a.id = %s"
        " AND EXISTS (SELECT 1 FROM controller_bindings b WHERE b.app_id = a.id AND b.kind_binding_id IS NOT NULL)"
        " AND NOT EXISTS (SELECT 1 FROM controller_consents c WHERE c.tenant_id = a.tenant_id AND (c.app_id = a.id OR ("
        "  c.withdrawn_at IS NOT NULL AND EXISTS (SELECT 1 FROM controller_bindings o JOIN controller_bindings b"
        "   ON b.service_account_id = o.service_account_id WHERE o.app_id = c.app_id AND b.app_id = a.id))))",
        (app_id,),
    )
