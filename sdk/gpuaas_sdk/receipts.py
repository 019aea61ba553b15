"""Teardown receipts: what was seen on a host after an app said that it is gone. Kept after the instance is gone."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from gpuaas_sdk.calls import Calls, Pages
from gpuaas_sdk.reader import Resource


@dataclass(frozen=True, kw_only=True)
class ReceiptProblem:
    code: str
    message: str = ""
    next_step: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiptFinding:
    """`known`: it was there before the tenant came, so it is nobody's leftover."""

    item: str
    why: str = ""
    known: bool = False


@dataclass(frozen=True, kw_only=True)
class ReceiptCheck:
    """`verdict`: absent, left, or not_seen when the host could not look. `noted` is new but of no footprint."""

    name: str
    verdict: str
    looked_for: list[str] = field(default_factory=list)
    found: list[ReceiptFinding] = field(default_factory=list)
    left: int = 0
    noted: list[str] = field(default_factory=list)
    examined: int = 0
    problem: str = ""


@dataclass(frozen=True, kw_only=True)
class ReceiptForce:
    by: str
    at: datetime
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Receipt(Resource):
    """A list brings the lines only; `checks`, `footprint` and `forced` come with `show`."""

    id: str
    status: str
    depth: str = ""
    project_id: str = ""
    instance_id: str = ""
    operation_id: str = ""
    member_id: str = ""
    allocation_id: str = ""
    node_id: str = ""
    verified: bool | None = None
    failure: ReceiptProblem | None = None
    left: int = 0
    checks: list[ReceiptCheck] = field(default_factory=list)
    footprint: Mapping[str, list[str]] = field(default_factory=dict)
    baseline_sha256: str | None = None
    forced: ReceiptForce | None = None
    correlation_id: str = ""
    created_at: datetime | None = None
    settled_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceiptFilter:
    instance_id: str | None = None
    operation_id: str | None = None
    allocation_id: str | None = None
    status: str | None = None

    def query(self) -> dict[str, str | None]:
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


class Receipts(Calls):
    def list(self, project_id: str, wanted: ReceiptFilter | None = None) -> Pages[Receipt]:
        """Newest first; also of instances that are gone."""
        return self._pages(Receipt, "projects", project_id, "receipts", **(wanted or ReceiptFilter()).query())

    def show(self, project_id: str, receipt_id: str) -> Receipt:
        return self._read(Receipt, "projects", project_id, "receipts", receipt_id)
