"""Apps: those a project publishes, those it may launch, and who is entitled to which."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.projects import moment
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class App(Resource):
    """An app, as its publisher sees it."""

    id: str
    slug: str
    tenant_id: str = ""
    project_id: str = ""
    display_name: str = ""
    description: str = ""
    category: str | None = None
    keywords: list[str] = field(default_factory=list)
    visibility: str = "private"
    created_by: str = ""
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class AppVersion(Resource):
    """`manifest` is there when one version is shown, not in lists."""

    id: str
    app_id: str
    version: str
    project_id: str = ""
    slug: str = ""
    runtime_version: str = ""
    artifact_kind: str = ""
    artifact_digest: str = ""
    content_digest: str = ""
    status: str = ""
    notice: str | None = None
    retire_at: datetime | None = None
    manifest: Mapping[str, object] = field(default_factory=dict, repr=False)
    created_by: str = ""
    created_at: datetime | None = None
    activated_at: datetime | None = None
    deprecated_at: datetime | None = None
    retired_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class CatalogVersion(Resource):
    id: str
    version: str
    runtime_version: str = ""
    status: str = ""
    notice: str | None = None
    retire_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class CatalogApp(Resource):
    """An app that the project may launch. `shown` and `manifest` are there when one app is shown."""

    id: str
    slug: str
    display_name: str = ""
    description: str = ""
    category: str | None = None
    keywords: list[str] = field(default_factory=list)
    own: bool = False
    latest: str | None = None
    versions: list[CatalogVersion] = field(default_factory=list)
    shown: CatalogVersion | None = None
    manifest: Mapping[str, object] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, kw_only=True)
class Entitlement(Resource):
    id: str
    tenant_id: str
    app_id: str
    slug: str = ""
    display_name: str = ""
    granted_by: str = ""
    created_at: datetime | None = None


class Apps(Calls):
    def list(self, project_id: str | None) -> Pages[App]:
        """Those that the project publishes; without one, all of the platform (for its operators)."""
        return self._pages(App, *(("apps",) if project_id is None else _apps(project_id)))

    def show(self, project_id: str, app_id: str) -> App:
        return self._read(App, *_apps(project_id), app_id)

    def set_visibility(self, app_id: str, visibility: str, reason: str, generation: int | None = None) -> App:
        body = {"visibility": visibility, "reason": reason}
        return self._change("PUT", App, "apps", app_id, "visibility", body=body, generation=generation)

    def entitlements(self, app_id: str) -> Pages[Entitlement]:
        """The tenants that are entitled to the app."""
        return self._pages(Entitlement, "apps", app_id, "entitlements")


class AppVersions(Calls):
    def register(self, project_id: str, manifest: str) -> AppVersion:
        """A draft from the manifest's text (YAML or JSON). The same content again is the same version."""
        return self._change("POST", AppVersion, "projects", project_id, "app-versions", body={"manifest": manifest})

    def list(self, project_id: str, app_id: str) -> Pages[AppVersion]:
        return self._pages(AppVersion, *_apps(project_id), app_id, "versions")

    def show(self, project_id: str, app_id: str, version_id: str) -> AppVersion:
        return self._read(AppVersion, *_version(project_id, app_id, version_id))

    def activate(self, project_id: str, app_id: str, version_id: str, generation: int | None = None) -> AppVersion:
        path = (*_version(project_id, app_id, version_id), "activate")
        return self._change("POST", AppVersion, *path, generation=generation)

    def deprecate(
        self,
        project_id: str,
        app_id: str,
        version_id: str,
        notice: str,
        retire_at: datetime | None = None,
        generation: int | None = None,
    ) -> AppVersion:
        body = given(notice=notice, retire_at=moment(retire_at))
        path = (*_version(project_id, app_id, version_id), "deprecate")
        return self._change("POST", AppVersion, *path, body=body, generation=generation)

    def retire(
        self, project_id: str, app_id: str, version_id: str, reason: str, generation: int | None = None
    ) -> AppVersion:
        path = (*_version(project_id, app_id, version_id), "retire")
        return self._change("POST", AppVersion, *path, body={"reason": reason}, generation=generation)


class Catalog(Calls):
    def list(self, project_id: str, search: str | None = None) -> Pages[CatalogApp]:
        """What the project may launch."""
        return self._pages(CatalogApp, "projects", project_id, "catalog", search=search)

    def show(self, project_id: str, slug: str, version: str | None = None) -> CatalogApp:
        """With the manifest of this version, else of the newest active one."""
        return self._read(CatalogApp, "projects", project_id, "catalog", slug, version=version)


class Entitlements(Calls):
    def list(self, tenant_id: str) -> Pages[Entitlement]:
        return self._pages(Entitlement, "tenants", tenant_id, "entitlements")

    def grant(self, tenant_id: str, slug: str) -> Entitlement:
        return self._change("POST", Entitlement, "tenants", tenant_id, "entitlements", body={"app": slug})

    def revoke(self, tenant_id: str, entitlement_id: str) -> None:
        self._discard("DELETE", "tenants", tenant_id, "entitlements", entitlement_id)


def _apps(project_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "apps")


def _version(project_id: str, app_id: str, version_id: str) -> tuple[str, ...]:
    return (*_apps(project_id), app_id, "versions", version_id)
