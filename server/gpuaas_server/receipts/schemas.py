"""Wire types of teardown receipts."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from gpuaas_server.kernel.http.schemas import CorrelationId

ReceiptStatus = Literal["pending", "clean", "left", "unseen", "not_verified"]
Depth = Literal["stopped", "gone"]


class ReceiptFinding(BaseModel):
    item: str = Field(description="What is there.")
    why: str = Field(description="The entry of the footprint, or the rule, that names it.")
    known: bool = Field(description="It was there before the tenant came, so it is nobody's leftover.")


class ReceiptCheck(BaseModel):
    name: str = Field(description="What was looked at, such as units, processes, ports, paths or credentials.")
    verdict: Literal["absent", "left", "not_seen"] = Field(description="`not_seen`: the host could not look.")
    looked_for: list[str] = Field(description="What the footprint names.")
    found: list[ReceiptFinding] = Field(description="Leftovers first; a long list is cut.")
    left: int = Field(description="How many leftovers there are in all.")
    noted: list[str] = Field(description="New since the allocation became active, and named by no footprint.")
    examined: int = Field(description="How many things were looked at: nought proves nothing.")
    problem: str = Field(description="Why the host could not look; empty when it could.")


class ReceiptProblem(BaseModel):
    code: str = Field(description="Stable; listed in contract/error-codes.json.")
    message: str = Field(description="For a person.")
    next_step: str


class ReceiptForce(BaseModel):
    by: str = Field(description="Id of the person.")
    at: datetime
    reason: str


class ReceiptLine(BaseModel):
    id: str
    project_id: str
    instance_id: str
    operation_id: str = Field(description="The teardown that it belongs to.")
    member_id: str = Field(description="The member that was torn down.")
    allocation_id: str
    node_id: str
    depth: Depth = Field(description="`stopped`: nothing runs. `gone`: nothing is left at all.")
    status: ReceiptStatus = Field(
        description="`left`: something is there. `unseen`: the host could not be asked. `not_verified`: it was forced."
    )
    verified: bool | None = Field(description="Null while pending; false for ever when it was forced.")
    failure: ReceiptProblem | None = Field(description="Why it is not clean.")
    left: int = Field(description="How many leftovers were found.")
    correlation_id: CorrelationId
    created_at: datetime
    settled_at: datetime | None = Field(description="When its status stopped being pending.")


class Receipt(ReceiptLine):
    """A teardown receipt: each check with its verdict and evidence. Kept after the instance is gone."""

    checks: list[ReceiptCheck]
    footprint: dict[str, list[str]] = Field(
        description="What the app's manifest says it leaves on a host, by kind: what was looked for."
    )
    baseline_sha256: str | None = Field(description="Of the host's baseline that it was compared with, on bare metal.")
    forced: ReceiptForce | None = Field(description="Who accepted it without proof; null otherwise.")
