"""Wire types of teardown receipts."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId

ReceiptStatus = Literal["pending", "clean", "left", "unseen", "not_verified"]
Depth = Literal["stopped", "gone"]


class ReceiptFinding(BaseModel):
    item: str = Field(description="What was found.")
    why: str = Field(description="The footprint entry, or the rule, that names it.")
    known: bool = Field(description="Whether it was there before the tenant, so that it is not a leftover.")


class ReceiptCheck(BaseModel):
    name: str = Field(description="What was examined, such as units, processes, ports, paths or credentials.")
    verdict: Literal["absent", "left", "not_seen"] = Field(
        description="absent: nothing is left. left: something is left. not_seen: the host could not examine it."
    )
    entries: list[str] = Field(description="What it looked for: entries of the footprint, or serials of certificates.")
    found: list[ReceiptFinding] = Field(description="What was found, leftovers first. A long list is shortened.")
    left: int = Field(description="Total number of leftovers.")
    not_in_footprint: list[str] = Field(
        description="Items that are new since the allocation became active and that no footprint names."
    )
    examined: int = Field(description="Number of items that were examined. 0 proves nothing.")
    problem: str = Field(description="Why the host could not examine it; otherwise empty.")


class ReceiptProblem(BaseModel):
    code: str = Field(description="A stable code; see contract/error-codes.json.")
    message: str = Field(description="An explanation for people.")
    next_step: str = Field(description="What a person should do next.")


class ReceiptForce(BaseModel):
    by: str = Field(description="Id of the person.")
    at: datetime
    reason: str


class ReceiptLine(BaseModel):
    id: str
    project_id: str
    instance_id: str
    operation_id: str = Field(description="The teardown that the receipt belongs to.")
    member_id: str = Field(description="The member that was torn down.")
    allocation_id: str
    node_id: str
    depth: Depth = Field(description="`stopped`: nothing runs. `gone`: nothing is left at all.")
    status: ReceiptStatus = Field(
        description="clean: nothing is left. left: something is left. unseen: the host could not be examined. not_verified:"
        " the teardown was forced."
    )
    verified: bool | None = Field(description="Null while pending; false permanently when the teardown was forced.")
    failure: ReceiptProblem | None = Field(description="Why the host is not proven clean.")
    left: int = Field(description="Number of leftovers.")
    correlation_id: CorrelationId
    created_at: datetime
    settled_at: datetime | None = Field(description="When the status was decided.")


class Receipt(ReceiptLine):
    """A teardown receipt: each check with its verdict and evidence. It is kept after the instance is decommissioned."""

    checks: list[ReceiptCheck] = Field(description="Each check, with its verdict and evidence.")
    footprint: dict[str, list[str]] = Field(
        description="What the app leaves on a host according to its manifest, by kind. The checks looked for this."
    )
    baseline_sha256: str | None = Field(
        description="SHA-256 of the baseline that the host was compared with, for bare metal."
    )
    forced: ReceiptForce | None = Field(description="Who accepted the teardown without proof; otherwise null.")
