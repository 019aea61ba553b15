"""Wire types of controllers."""

from datetime import datetime
from typing import Annotated, Literal

from pydantic import BaseModel, Field, StringConstraints

from gpuaas_server.identity.service import PermissionName
from gpuaas_server.kernel.http.schemas import AllowedActions, Body, Reason, Slug, examples
from gpuaas_server.kernel.ids import ProjectId, ServiceAccountId
from gpuaas_server.operations.schemas import Replica

ArtifactKind = Literal["launchable", "oci"]
ReplicaVersion = Annotated[str, StringConstraints(pattern="^[0-9A-Za-z][0-9A-Za-z.+_-]{0,63}$")]


class ControllerBindingCreate(Body):
    model_config = examples({"app": "echo", "service_account_id": "sva_01jd2m8k4t7w9x3c5v6b1n2q0a"})

    app: Slug = Field(description="The slug of an app that this project publishes.")
    service_account_id: ServiceAccountId = Field(
        description="A service account of this project with the scope apps:control and the app among its app_slugs."
    )


class ControllerBinding(BaseModel):
    """A service account of the publisher's project that controls an app for every tenant that consents."""

    id: str
    project_id: str
    app_id: str
    app_slug: str
    service_account_id: str
    service_account_name: str
    created_by: str = Field(description="Id of the person.")
    created_at: datetime
    kind_binding_id: str | None = Field(
        default=None, description="The kind binding that this one follows from; it ends with that one."
    )
    allowed_actions: AllowedActions


class ControllerKindBindingCreate(Body):
    model_config = examples({"artifact_kind": "launchable", "service_account_id": "sva_01jd2m8k4t7w9x3c5v6b1n2q0a"})

    artifact_kind: ArtifactKind = Field(description="Apps with a version of this kind and no binding of their own.")
    service_account_id: ServiceAccountId = Field(
        description="A service account of the platform's own project with the scope apps:control."
    )


class ControllerKindBinding(BaseModel):
    """A service account of the platform that controls every app of a kind, for every tenant that consents."""

    id: str
    project_id: str
    artifact_kind: ArtifactKind
    service_account_id: str
    service_account_name: str
    created_by: str = Field(description="Id of the person or service account.")
    created_at: datetime
    allowed_actions: AllowedActions


class ControllerReplica(BaseModel):
    service_account_id: str
    service_account_name: str
    app_slug: str
    replica: str = Field(description="Name of the replica; `poll` for replicas that poll for work without heartbeats.")
    version: str | None = Field(description="Version that the controller reports.")
    since: datetime = Field(description="Since when the replica runs without a gap.")
    last_seen_at: datetime = Field(description="When the last heartbeat arrived.")
    live: bool = Field(description="Whether it was seen within GPUAAS_CONTROLLER_SILENCE_SECONDS.")


class ControllerReplicas(BaseModel):
    items: list[ControllerReplica]


class ControllerHeartbeat(Body):
    model_config = examples({"app": "echo", "replica": "echo-controller-1", "version": "0.1.0"})

    app: Slug = Field(description="The slug of an app that this service account is bound to.")
    replica: Replica = Field(description="Name of this replica of the controller.")
    version: ReplicaVersion | None = Field(default=None, description="Version of the controller.")
    stopping: bool = Field(default=False, description="The replica ends in good order and is no longer counted.")


class HeartbeatAccepted(BaseModel):
    app: str = Field(description="Slug of the app.")
    replica: str = Field(description="Name of the replica.")
    since: datetime = Field(description="Since when this replica runs without a gap.")
    next_in_seconds: float = Field(description="Send the next heartbeat within this number of seconds.")


class PermissionOffered(BaseModel):
    name: PermissionName = Field(description="Name of the permission.")
    description: str = Field(description="What the controller may do with it.")


class ControllerConsentGive(Body):
    model_config = examples({"app": "echo"}, {"app": "echo", "project_ids": ["prj_01jd2m8k4t7w9x3c5v6b1n2q0a"]})

    app: Slug = Field(description="Slug of an app that has a controller binding.")
    permissions: Annotated[list[PermissionName], Field(min_length=1, max_length=20)] | None = Field(
        default=None,
        description="What the controller may do; see controller-offers. Default: all that exist now.",
    )
    project_ids: Annotated[list[ProjectId], Field(min_length=1, max_length=500)] | None = Field(
        default=None, description="Projects of the tenant in which it may do so. Default: all, later ones too."
    )


class ControllerConsentWithdraw(Body):
    reason: Reason | None = None


class ControllerConsent(BaseModel):
    """A tenant's consent to the controller of an app. It holds until it is withdrawn."""

    id: str
    tenant_id: str
    app_id: str
    app_slug: str
    permissions: list[str] = Field(description="What the controller may do.")
    project_ids: list[str] | None = Field(description="Projects in which it may do so; null for all of the tenant.")
    given_by: str = Field(description="Id of the person.")
    given_at: datetime
    given_with: Literal["consent", "entitlement"] = Field(
        default="consent",
        description="consent: an administrator gave it by itself. entitlement: it came with an app of the platform.",
    )
    withdrawn_by: str | None = Field(description="Id of the person.")
    withdrawn_at: datetime | None = Field(description="Since when the controller may do nothing in the tenant.")
    withdrawn_reason: str | None = Field(description="Why it was withdrawn.")
    allowed_actions: AllowedActions


class ControllerOffer(BaseModel):
    """An app whose publisher runs a controller for other tenants, and what a consent allows it to do."""

    id: str = Field(description="Of the app.")
    slug: str
    display_name: str
    publisher_tenant_id: str = Field(description="Tenant that publishes the app.")
    publisher_project_id: str = Field(description="Project that publishes the app.")
    service_accounts: list[str] = Field(description="Names of the controller's service accounts.")
    live: bool = Field(description="Whether a replica is live.")
    since: datetime | None = Field(description="Since when the controller runs without a gap; null if it does not run.")
    permissions: list[PermissionOffered] = Field(description="What the controller may do with a consent.")
    consent: ControllerConsent | None = Field(description="The tenant's consent; null if there is none.")
    allowed_actions: AllowedActions
