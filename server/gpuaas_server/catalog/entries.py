"""The entries of the catalogue as users see them: what their project may launch, and one app in full."""

from collections import defaultdict
from collections.abc import Sequence

from gpuaas_server.catalog import queries
from gpuaas_server.catalog.rows import AppRow, AppVersionRow, CatalogVersionRow
from gpuaas_server.catalog.schemas import CatalogApp, CatalogEntry, CatalogVersion
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.rows import fields_of

_SHOWN = 20  # versions of an app, newest first
_MOST_WORDS = 8


async def catalog_list(
    connection: Connection, tenant_id: str, search: str, after: str | None, limit: int
) -> Page[CatalogApp]:
    words = search.casefold().split()[:_MOST_WORDS]
    apps = await queries.catalog_list(connection, tenant_id, words, after, limit + 1)
    versions: dict[str, list[CatalogVersion]] = defaultdict(list)
    for row in await queries.catalog_versions(connection, [app.id for app in apps], _SHOWN):
        versions[row.app_id].append(_version(row))
    return Page[CatalogApp].of([_app(app, tenant_id, versions[app.id]) for app in apps], limit)


async def catalog_show(connection: Connection, tenant_id: str, slug: str, version: str | None) -> CatalogEntry:
    """Show the app with the manifest of the version that was asked for, else the newest active one, else the newest."""
    app = await queries.catalog_app(connection, tenant_id, slug)
    if app is None:
        raise not_found("app", slug)
    versions = [_version(row) for row in await queries.catalog_versions(connection, [app.id], _SHOWN)]
    listed = _app(app, tenant_id, versions)
    wanted = version or listed.latest or (versions[0].version if versions else None)
    if wanted is None:
        raise Problem("not_found", f"{slug} has no version that could be launched yet.", target=slug)
    row = await queries.version_to_launch(connection, app.id, wanted)
    if row is None or row.status == "draft":
        raise not_found(f"version of {slug}", wanted)
    return CatalogEntry(**listed.model_dump(), shown=_version(row), manifest=row.manifest)


def _version(row: CatalogVersionRow | AppVersionRow) -> CatalogVersion:
    return CatalogVersion(**fields_of(row))


def _app(row: AppRow, tenant_id: str, versions: Sequence[CatalogVersion]) -> CatalogApp:
    latest = next((one.version for one in versions if one.status == "active"), None)
    return CatalogApp(**fields_of(row), own=row.tenant_id == tenant_id, latest=latest, versions=list(versions))
