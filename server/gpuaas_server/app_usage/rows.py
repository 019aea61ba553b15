"""The rows of app usage."""

from datetime import datetime
from decimal import Decimal

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class UsageRecordRow:
    id: str
    tenant_id: str
    project_id: str
    instance_id: str
    app_slug: str
    source_key: str
    metric: str
    unit: str
    quantity: int
    started_at: datetime
    ended_at: datetime
    subject: str | None
    reported_by: str
    correlation_id: str
    recorded_at: datetime

    @property
    def content(self) -> tuple[object, ...]:
        """Return what was reported, apart from who reported it and when."""
        reported = (self.source_key, self.project_id, self.metric, self.unit, self.quantity)
        return (*reported, self.started_at, self.ended_at, self.subject)


@dataclass(frozen=True, slots=True)
class UsagePosition:
    """Marks where a page of records ends."""

    ended_at: datetime
    id: str


@dataclass(frozen=True, slots=True)
class UsageTotalRow:
    instance_id: str
    app_slug: str
    metric: str
    unit: str
    quantity: Decimal
    records: Decimal
