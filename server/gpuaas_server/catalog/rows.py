"""The rows of the catalogue: each class has the columns of one table, or of one question to the database."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from gpuaas_server.kernel.rows import computed, computed_from


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
    notice: str | None
    retire_at: datetime | None
    activated_at: datetime | None
    deprecated_at: datetime | None
    retired_at: datetime | None
    generation: int


@dataclass(frozen=True, slots=True)
class RegisteredVersion(AppVersionRow):
    """A version with all that was registered of it."""

    precedence: str
    manifest: dict[str, Any]


@dataclass(frozen=True, slots=True)
class CatalogVersionRow:
    id: str
    app_id: str
    version: str
    runtime_version: str
    status: str
    notice: str | None
    retire_at: datetime | None


@dataclass(frozen=True, slots=True)
class VersionFacts:
    """What decides whether a version may be taken."""

    version: str
    status: str
    notice: str | None
    artifact_digest: str
    project_id: str
    further_digests: list[str] = computed(
        "ARRAY(SELECT jsonb_array_elements_text("
        "jsonb_path_query_array(manifest, '$.runtime_profile.artifacts[*].digest')))"
    )


@dataclass(frozen=True, slots=True)
class VersionNotice:
    """What users of a version should know: it is deprecated or retired, and what to do."""

    id: str
    version: str
    status: str
    notice: str | None
    retire_at: datetime | None


@dataclass(frozen=True, slots=True)
class EntitlementRow:
    """`e` is the entitlement in a join, `a` the app."""

    id: str
    tenant_id: str
    app_id: str
    slug: str = field(metadata=computed_from("a.slug"))
    display_name: str = field(metadata=computed_from("a.display_name"))
    granted_by: str
    created_at: datetime
