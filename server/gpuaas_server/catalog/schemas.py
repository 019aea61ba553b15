"""Wire types of the catalogue."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.kernel.http.schemas import (
    LINES,
    ONE_LINE,
    AllowedActions,
    Body,
    Generation,
    Moment,
    Name,
    Reason,
    Slug,
    examples,
)

Visibility = Literal["private", "entitled", "public"]
ProvidedState = Literal["preparing", "provided", "unavailable"]
_PROVIDED = (
    "preparing: a part of it, such as its image, is being made. provided: it is published, and its controller runs."
    " unavailable: it cannot be provided now; the platform tries again."
)
VersionStatus = Literal["draft", "canary", "active", "deprecated", "retired"]
CHANNEL = (
    "Which versions this project gets: `stable` ones, or the `canary` where the app has one. Without a choice of the project, a"
    " hash of the app and the project decides, always in the same way."
)
# More than a manifest may have, so that one that is too large is told so by the manifest's own rules.
ManifestText = Annotated[str, StringConstraints(min_length=1, max_length=400_000)]
Notice = Annotated[str, StringConstraints(min_length=3, max_length=500, pattern=LINES)]


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

    manifest: ManifestText = Field(description="Text of the manifest, YAML or JSON; see app-manifest.schema.json.")


class AppVersionDeprecate(Body):
    model_config = examples({"notice": "Upgrade to 0.2.0: its relays reconnect.", "retire_at": "2030-06-30T00:00:00Z"})

    notice: Notice = Field(description="What users should do. It is shown in the catalogue and on instances.")
    retire_at: Moment | None = Field(default=None, description="The version is not retired before this time.")


class AppVersionCanary(Body):
    model_config = examples({"percent": 10})

    percent: Annotated[int, Field(ge=1, le=100)] = Field(
        description="Percentage of projects that get it. With a larger number, projects that have it keep it."
    )


class AppRollback(Body):
    reason: Reason


class CatalogChannelSet(Body):
    channel: Literal["automatic", "stable", "canary"] = Field(
        description="`automatic`: a hash of the app and the project decides. The others are this project's own choice."
    )


class CatalogChannel(BaseModel):
    slug: str
    channel: Literal["stable", "canary"] = Field(description=CHANNEL)
    pinned: bool = Field(description="Whether the project has chosen it.")
    latest: str | None = Field(description="The version that a launch without a version uses.")
    allowed_actions: AllowedActions


class AppVersionRetire(Body):
    reason: Reason


class AppVisibilitySet(Body):
    visibility: Visibility = Field(
        description="private: only for the app's own tenant. entitled: also for tenants with an entitlement. public: for all"
        " tenants."
    )
    reason: Reason


class EntitlementGrant(Body):
    model_config = examples({"app": "echo"})

    app: Slug = Field(description="Slug of the app.")
    consent: Literal["none", "default"] = Field(
        default="none",
        description="default: also consent, for the tenant, to the controller of an app of the platform's own project. The"
        " tenant sees it and can withdraw it; what it decided before stays. none: the tenant consents itself.",
    )


class App(BaseModel):
    id: str
    tenant_id: str = Field(description="The tenant that owns the app.")
    project_id: str = Field(description="The project that publishes the app.")
    slug: str = Field(description="Unique name of the app on the platform.")
    display_name: str
    description: str
    category: str | None = Field(description="Category from the manifest's `ui`, for browsing.")
    keywords: list[str] = Field(description="Keywords from the manifest's `ui`, for searching.")
    visibility: Visibility = Field(
        description="private: only for the app's own tenant. entitled: also for tenants with an entitlement. public: for all"
        " tenants."
    )
    stable_version_id: str | None = Field(description="The version that launches take; null: the newest active one.")
    previous_version_id: str | None = Field(description="The version that a rollback returns to.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    generation: Generation
    allowed_actions: AllowedActions


class AppVersion(BaseModel):
    id: str
    app_id: str
    project_id: str
    slug: str = Field(description="Slug of the app.")
    version: str
    runtime_version: str = Field(description="Version of the runtime, which differs from the app's.")
    artifact_kind: str = Field(description="How the version runs: oci, launchable or controller.")
    artifact_digest: str = Field(description="Digest of the artifact that the version runs.")
    content_digest: str = Field(description="Digest of the manifest's content, independent of its formatting.")
    status: VersionStatus
    canary_percent: int | None = Field(description="For a canary: the percentage of projects that get it.")
    superseded: bool = Field(
        description="Launches take another active version: deprecate this one once nobody needs it."
    )
    notice: str | None = Field(description="Why the version is deprecated, and what to do.")
    retire_at: datetime | None = Field(description="The version is not retired before this time.")
    created_by: str = Field(description="Id of the user or service account.")
    created_at: datetime
    activated_at: datetime | None
    deprecated_at: datetime | None
    retired_at: datetime | None
    trial_since: datetime | None = Field(
        description="Since when the publishing project may launch this draft; null: it may not."
    )
    generation: Generation
    allowed_actions: AllowedActions


class AppVersionDetail(AppVersion):
    manifest: dict[str, object] = Field(description="The registered manifest; see app-manifest.schema.json.")


class CatalogVersion(BaseModel):
    id: str
    version: str
    runtime_version: str = Field(description="Version of the runtime, which differs from the app's.")
    status: VersionStatus
    canary_percent: int | None = Field(description="For a canary: the percentage of projects that get it.")
    notice: str | None = Field(description="Why the version is deprecated, and what to do.")
    retire_at: datetime | None = Field(description="The version is not retired before this time.")


class ControllerStatus(BaseModel):
    """The controller that serves an app in a project, or why none does."""

    state: Literal["live", "silent", "no_consent", "no_controller"] = Field(
        description="live: a controller serves this project now. silent: no replica was seen lately. no_consent: the tenant"
        " has not consented to the controller for this project. no_controller: no controller is run for this project."
    )
    served_by: str | None = Field(description="Name of the controller's service account.")
    own: bool = Field(description="Whether the service account is of this project and not of the publisher.")
    since: datetime | None = Field(description="Since when the controller runs without a gap; null if it does not run.")
    last_seen_at: datetime | None = Field(description="When a replica was last seen.")
    version: str | None = Field(description="Version that the controller reports.")
    replicas: int = Field(description="Number of live replicas.")
    message: str = Field(description="The state as a sentence.")
    next_step: str | None = Field(description="What to do so that the app is served; null if it is.")


class CatalogApp(BaseModel):
    """An app, as projects that may launch it see it."""

    id: str
    slug: str
    display_name: str
    description: str
    category: str | None
    keywords: list[str]
    own: bool = Field(description="Whether your tenant publishes the app.")
    latest: str | None = Field(
        description="The version that a launch without a version uses in this project, by its channel."
    )
    channel: Literal["stable", "canary"] = Field(description=CHANNEL)
    channel_pinned: bool = Field(description="Whether the project has chosen its channel.")
    versions: list[CatalogVersion] = Field(description="Canary, active and deprecated versions, newest first.")
    controller: ControllerStatus = Field(description="Which controller serves the app in this project.")
    allowed_actions: AllowedActions


class CatalogEntry(CatalogApp):
    shown: CatalogVersion = Field(description="The version of the manifest.")
    manifest: dict[str, object] = Field(
        description="The manifest: components, compatibility, inputs, footprint and so on."
    )


class ProvidedAppReport(Body):
    model_config = examples({"display_name": "Echo", "state": "preparing", "detail": "The image is being built."})

    display_name: Name
    state: ProvidedState = Field(description=_PROVIDED)
    detail: Annotated[str, StringConstraints(max_length=1000, pattern=ONE_LINE)] | None = Field(
        default=None, description="What the platform does now, or why it cannot provide the app; for operators."
    )


class ProvidedApp(BaseModel):
    """One of the platform's own apps: whether it is provided, and why not."""

    name: str = Field(description="Name of the app in GPUAAS_PLATFORM_APPS.")
    display_name: str
    state: ProvidedState = Field(description=_PROVIDED)
    message: str = Field(description="The state as a sentence.")
    next_step: str | None = Field(description="What to do to get the app; null if there is nothing to do.")
    detail: str | None = Field(
        description="What the platform does now, or why it cannot provide the app. Only operators of the platform see it."
    )
    reported_at: datetime = Field(description="When the state was reported.")


class ProvidedAppList(BaseModel):
    items: list[ProvidedApp]


class Entitlement(BaseModel):
    id: str
    tenant_id: str
    app_id: str
    slug: str
    display_name: str
    granted_by: str = Field(description="Id of the person.")
    created_at: datetime
