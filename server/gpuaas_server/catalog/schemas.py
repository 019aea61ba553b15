"""Wire types of the catalogue."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import Body, Moment, Reason, Slug

Visibility = Literal["private", "entitled", "public"]
VersionStatus = Literal["draft", "active", "deprecated", "retired"]
# More than a manifest may have, so that one that is too large is told so by the manifest's own rules.
ManifestText = Annotated[str, StringConstraints(min_length=1, max_length=400_000)]
Notice = Annotated[str, StringConstraints(min_length=3, max_length=500, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]


class AppVersionRegister(Body):
    manifest: ManifestText = Field(description="The manifest's text, YAML or JSON; see app-manifest.schema.json.")


class AppVersionDeprecate(Body):
    notice: Notice = Field(description="What users should do; shown in the catalogue and on instances.")
    retire_at: Moment | None = Field(default=None, description="Not to be retired before.")


class AppVersionRetire(Body):
    reason: Reason


class AppVisibilitySet(Body):
    visibility: Visibility
    reason: Reason


class EntitlementGrant(Body):
    app: Slug = Field(description="The app's slug.")


class App(BaseModel):
    id: str
    tenant_id: str
    project_id: str = Field(description="Where it is published from.")
    slug: str
    display_name: str
    description: str
    category: str | None
    keywords: list[str]
    visibility: Visibility = Field(
        description="private: its tenant's; entitled: of tenants with an entitlement too; public."
    )
    created_by: str
    created_at: datetime
    generation: int
    allowed_actions: list[str]


class AppVersion(BaseModel):
    id: str
    app_id: str
    project_id: str
    slug: str
    version: str
    runtime_version: str
    artifact_kind: str
    artifact_digest: str
    content_digest: str = Field(description="Of the manifest's content, however it is written.")
    status: VersionStatus
    notice: str | None = Field(description="Why it is deprecated, and what to do.")
    retire_at: datetime | None
    created_by: str
    created_at: datetime
    activated_at: datetime | None
    deprecated_at: datetime | None
    retired_at: datetime | None
    generation: int
    allowed_actions: list[str]


class AppVersionDetail(AppVersion):
    manifest: dict[str, object]


class CatalogVersion(BaseModel):
    id: str
    version: str
    runtime_version: str
    status: VersionStatus
    notice: str | None
    retire_at: datetime | None


class CatalogApp(BaseModel):
    """An app as those see it who may launch it."""

    id: str
    slug: str
    display_name: str
    description: str
    category: str | None
    keywords: list[str]
    own: bool = Field(description="Whether your own tenant publishes it.")
    latest: str | None = Field(description="The newest active version: what a launch takes that names none.")
    versions: list[CatalogVersion] = Field(description="Active and deprecated ones, newest first.")


class CatalogEntry(CatalogApp):
    shown: CatalogVersion = Field(description="The version that the manifest is of.")
    manifest: dict[str, object] = Field(description="Components, compatibility, inputs, footprint and the rest.")


class Entitlement(BaseModel):
    id: str
    tenant_id: str
    app_id: str
    slug: str
    display_name: str
    granted_by: str
    created_at: datetime
