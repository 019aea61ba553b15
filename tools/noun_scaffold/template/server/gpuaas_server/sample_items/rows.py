"""The rows of sample items."""

from datetime import datetime

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class SampleItemRow:
    id: str
    tenant_id: str
    project_id: str
    name: str
    state: str  # with states
    state_since: datetime  # with states
    created_by: str
    created_at: datetime
