"""The rows of controllers."""

from datetime import datetime

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class BindingRow:
    id: str
    tenant_id: str
    project_id: str
    app_id: str
    app_slug: str
    service_account_id: str
    service_account_name: str
    created_by: str
    created_at: datetime
    kind_binding_id: str | None = None  # the kind binding that this one follows from


@dataclass(frozen=True, slots=True)
class KindBindingRow:
    id: str
    tenant_id: str
    project_id: str
    artifact_kind: str
    service_account_id: str
    service_account_name: str
    created_by: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ConsentRow:
    id: str
    tenant_id: str
    app_id: str
    app_slug: str
    permissions: list[str]
    project_ids: list[str] | None  # None: all of the tenant
    given_by: str
    given_at: datetime
    withdrawn_by: str | None
    withdrawn_at: datetime | None
    withdrawn_reason: str | None
    given_with: str = "consent"  # or "entitlement"
    to_platform: bool = False  # only to the platform's controllers of kinds

    def reaches(self, binding: BindingRow) -> bool:
        """Tell whether the consent also covers the controller of this binding."""
        return not self.to_platform or binding.kind_binding_id is not None

    def covers(self, project_id: str) -> bool:
        return self.withdrawn_at is None and (self.project_ids is None or project_id in self.project_ids)


@dataclass(frozen=True, slots=True)
class ReplicaRow:
    service_account_id: str
    app_slug: str
    replica: str
    tenant_id: str
    project_id: str
    service_account_name: str
    version: str | None
    since: datetime
    last_seen_at: datetime


@dataclass(frozen=True, slots=True)
class OfferRow:
    """An app with a controller that would serve the tenant."""

    id: str
    slug: str
    display_name: str
    publisher_tenant_id: str
    publisher_project_id: str


@dataclass(frozen=True, slots=True)
class ConsentedApp:
    """An app that a service account may control in a project by its tenant's consent."""

    app_slug: str
    permissions: list[str]
