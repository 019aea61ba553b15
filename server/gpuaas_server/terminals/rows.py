"""The rows of terminals."""

from datetime import datetime

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class TerminalRow:
    id: str
    tenant_id: str
    project_id: str
    allocation_id: str
    node_id: str
    status: str
    opened_by: str
    opened_by_kind: str
    opened_by_name: str
    address: str
    columns: int
    rows: int
    idle_seconds: int
    max_seconds: int
    open_by: datetime
    correlation_id: str
    created_at: datetime
    holder: str | None = None
    lease_until: datetime | None = None
    opened_at: datetime | None = None
    ends_at: datetime | None = None
    ended_at: datetime | None = None
    reason: str | None = None
    message: str | None = None
    exit_status: int | None = None
    bytes_in: int = 0
    bytes_out: int = 0


@dataclass(frozen=True, slots=True)
class LiveTerminals:
    """Counts the terminals that are live."""

    on_allocation: int
    of_user: int
