"""The audit trail: who did what, of the platform, a tenant or a project."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class AuditRecord(Resource):
    id: str
    at: datetime
    action: str
    outcome: str = ""
    actor_id: str = ""
    actor_kind: str = ""
    actor_name: str = ""
    address: str = ""
    resource_id: str | None = None
    reason: str | None = None
    tenant_id: str | None = None
    project_id: str | None = None
    correlation_id: str = ""
    details: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditFilter:
    resource_id: str | None = None
    actor_id: str | None = None
    correlation_id: str | None = None
    action: str | None = None
    outcome: str | None = None

    def query(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Audit(Calls):
    def list(
        self,
        wanted: AuditFilter | None = None,
        *,
        tenant_id: str | None = None,
        project_id: str | None = None,
    ) -> Pages[AuditRecord]:
        path: tuple[str, ...] = ("audit",)
        if project_id is not None:
            path = ("projects", project_id, "audit")
        elif tenant_id is not None:
            path = ("tenants", tenant_id, "audit")
        return self._pages(AuditRecord, *path, **(wanted or AuditFilter()).query())
