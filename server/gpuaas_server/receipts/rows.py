"""The rows of teardown receipts, and the documents that they keep."""

from dataclasses import field
from datetime import datetime
from typing import TypedDict

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.receipts.footprint import Footprint


class FindingDocument(TypedDict):
    item: str
    why: str
    known: bool


class CheckDocument(TypedDict):
    name: str
    verdict: str
    entries: list[str]
    found: list[FindingDocument]
    left: int
    not_in_footprint: list[str]
    examined: int
    problem: str


class ForceDocument(TypedDict):
    by: str
    at: str
    reason: str


@dataclass(frozen=True, slots=True)
class ReceiptRow:
    id: str
    tenant_id: str
    project_id: str  # of the allocation
    instance_project_id: str | None  # of the instance, where that is another one
    operation_id: str
    instance_id: str
    app_slug: str
    member_id: str
    allocation_id: str
    node_id: str
    shape: str
    depth: str
    footprint: Footprint
    footprint_sha256: str
    baseline_sha256: str | None
    revoked_serials: list[int]
    status: str
    attempt: int  # the generation of the host task in flight; 0: the host was never asked
    deadline_at: datetime
    correlation_id: str
    created_at: datetime
    code: str | None = None
    message: str | None = None
    checks: list[CheckDocument] = field(default_factory=list)
    forced: ForceDocument | None = None
    settled_at: datetime | None = None


class ReceiptChanges(TypedDict, total=False):
    """The columns that change after a receipt was started."""

    status: str
    attempt: int
    code: str | None
    message: str | None
    checks: list[CheckDocument]
    forced: ForceDocument
    settled_at: datetime
