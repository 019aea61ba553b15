"""The rows of sample items."""

from dataclasses import dataclass
from datetime import datetime


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
