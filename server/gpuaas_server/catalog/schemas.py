"""Wire types of the catalogue."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Generation, Moment, Reason, Slug, examples

Visibility = Literal["private", "entitled", "public"]
VersionStatus = Literal["draft", "active", "deprecated", "retired"]
# More than a manifest may have, so that one that is too large is told so by the manifest's own rules.
ManifestText = Annotated[str, StringConstraints(min_length=1, max_length=400_000)]
Notice = Annotated[str, StringConstraints(min_length=3, max_length=500, pattern=r"^[^\x00-\x08\x0b-\x1f\x7f]*$")]


MANIFEST = """\
manifest: 1
slug: echo
display_name: Echo
description: A clustered TCP echo, one hub and any number of relays.
version: 0.1.0
runtime_version: "1"
artifact:
  kind: controller
  digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
compatibility: {requires_node_network: true}
components:
  - {key: hub, display_name: Hub, min: 1, max: 1, placement: own_allocation}
  - {key: relay, display_name: Relay, min: 0, max: 64, placement: own_allocation, depends_on: [hub]}
footprint:
  units: [echo-hub.service, echo-relay.service]
  ports: [{port: 7007}, {port: 7008}]
  paths: [/opt/echo]
  users: [echo]
"""


class AppVersionRegister(Body):
    model_config = examples({"manifest": MANIFEST})

    manifest: ManifestText = Field(description="The manifest's text, YAML or JSON; see app-manifest.schema.json.")


class AppVersionDeprecate(Body):
    model_config = examples({"notice": "Upgrade to 0.2.0: its relays reconnect.", "retire_at": "2030-06-30T00:00:00Z"})

    notice: Notice = Field(description="What users should do; shown in the catalogue and on instances.")
    retire_at: Moment | None = Field(default=None, description="Not to be retired before.")


class AppVersionRetire(Body):
    reason: Reason


class AppVisibilitySet(Body):
    visibility: Visibility = Field(
        description="private: its tenant's; entitled: of tenants with an entitlement too; public."
    )
    reason: Reason


class EntitlementGrant(Body):
    model_config = examples({"app": "echo"})

    app: Slug = Field(description="The app's slug.")


class App(BaseModel):
    id: str
    tenant_id: str = Field(description="Whose app it is.")
    project_id: str = Field(description="Where it is published from.")
    slug: str = Field(description="Its name on the platform, which no other app has.")
    display_name: str
    description: str
    category: str | None = Field(description="From the manifest's `ui`, for browsing.")
    keywords: list[str] = Field(description="From the manifest's `ui`, for searching.")
    visibility: Visibility = Field(
        description="private: its tenant's; entitled: of tenants with an entitlement too; public."
    )
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class AppVersion(BaseModel):
    id: str
    app_id: str
    project_id: str
    slug: str = Field(description="Of the app.")
    version: str
    runtime_version: str = Field(description="The runtime's own version, which is not the app's.")
    artifact_kind: str = Field(description="How it is run: oci, launchable or controller.")
    artifact_digest: str = Field(description="The bytes that it runs.")
    content_digest: str = Field(description="Of the manifest's content, however it is written.")
    status: VersionStatus
    notice: str | None = Field(description="Why it is deprecated, and what to do.")
    retire_at: datetime | None = Field(description="It is not retired before.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    activated_at: datetime | None
    deprecated_at: datetime | None
    retired_at: datetime | None
    generation: Generation
    allowed_actions: AllowedActions


class AppVersionDetail(AppVersion):
    manifest: dict[str, object] = Field(description="As it was registered; see app-manifest.schema.json.")


class CatalogVersion(BaseModel):
    id: str
    version: str
    runtime_version: str = Field(description="The runtime's own version, which is not the app's.")
    status: VersionStatus
    notice: str | None = Field(description="Why it is deprecated, and what to do.")
    retire_at: datetime | None = Field(description="It is not retired before.")


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
    granted_by: str = Field(description="Id of the person.")
    created_at: datetime
