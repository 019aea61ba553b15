"""The rows of the catalogue: each class has the columns of one table, or of one question to the database."""

from dataclasses import field
from datetime import datetime

from gpuaas_server.catalog.manifest_document import ManifestDocument
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import computed_from


@dataclass(frozen=True, slots=True)
class AppRow:
    id: str
    tenant_id: str
    project_id: str
    slug: str
    display_name: str
    description: str
    category: str | None
    keywords: list[str]
    search: str
    visibility: str
    created_by: str
    created_at: datetime
    generation: int = 1
    stable_version_id: str | None = None  # the version that launches take; None: the newest active one
    previous_version_id: str | None = None  # the one before it, for a rollback


@dataclass(frozen=True, slots=True)
class AppVersionRow:
    """A version without its manifest, as lists show it; `v` is the version in a join, `a` its app."""

    id: str
    tenant_id: str
    project_id: str
    app_id: str
    slug: str = field(metadata=computed_from("a.slug"))
    version: str
    runtime_version: str
    artifact_kind: str
    artifact_digest: str
    content_digest: str
    status: str
    created_by: str
    created_at: datetime
    canary_percent: int | None
    notice: str | None
    retire_at: datetime | None
    activated_at: datetime | None
    deprecated_at: datetime | None
    retired_at: datetime | None
    generation: int
    trial_since: datetime | None
    superseded: bool = field(
        default=False,
        metadata=computed_from(
            "(v.status = 'active' AND v.id <> coalesce((SELECT s.id FROM app_versions s WHERE s.app_id = v.app_id"
            " AND s.status = 'active' ORDER BY s.id = a.stable_version_id DESC NULLS LAST, s.precedence DESC, s.id DESC"
            " LIMIT 1), v.id))"
        ),
    )


def _unread() -> ManifestDocument:
    """Raise. It is a default, which the field needs since fields of the class that it extends have some."""
    raise TypeError("the statement did not read the manifest")


@dataclass(frozen=True, slots=True)
class RegisteredVersion(AppVersionRow):
    """A version with all that was registered of it."""

    precedence: str = ""
    manifest: ManifestDocument = field(default_factory=_unread)


@dataclass(frozen=True, slots=True)
class CatalogVersionRow:
    id: str
    app_id: str
    version: str
    runtime_version: str
    status: str
    canary_percent: int | None
    notice: str | None
    retire_at: datetime | None


@dataclass(frozen=True, slots=True)
class ChannelRow:
    """Holds what a project has chosen for itself."""

    app_id: str
    project_id: str
    tenant_id: str
    channel: str
    set_by: str
    set_at: datetime


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """Holds the facts that decide whether a version may be taken."""

    app_id: str
    version: str
    status: str
    canary_percent: int | None
    notice: str | None
    manifest: ManifestDocument
    project_id: str
    trial_since: datetime | None


@dataclass(frozen=True, slots=True)
class VersionNotice:
    """Tells users of a version what they should know: it is deprecated or retired, and what to do."""

    id: str
    version: str
    status: str
    notice: str | None
    retire_at: datetime | None


@dataclass(frozen=True, slots=True)
class NamingVersion:
    """A version whose profiles name a digest beside the version's own artifact."""

    digest: str
    version_id: str


@dataclass(frozen=True, slots=True)
class LastRetirement:
    """Says when a version that refers to the digest was last retired."""

    digest: str
    retired_at: datetime


@dataclass(frozen=True, slots=True)
class ProvidedAppRow:
    name: str
    display_name: str
    state: str  # preparing, provided or unavailable
    detail: str | None
    reported_at: datetime


@dataclass(frozen=True, slots=True)
class EntitlementRow:
    """An entitlement. `e` is the entitlement in a join, `a` the app."""

    id: str
    tenant_id: str
    app_id: str
    slug: str = field(metadata=computed_from("a.slug"))
    display_name: str = field(metadata=computed_from("a.display_name"))
    granted_by: str
    created_at: datetime
