"""The life of a receipt: what to do next, from a snapshot and the time alone.

    pending → clean
       ↓  ↘ left ↘
       ↓  ↘ unseen → not_verified (forced, with a reason; for ever)

`left`: the host showed something of the app. `unseen`: nobody could look, and the code says why. A retry is a new
operation with a new receipt; this one stays as it is.
"""

from datetime import datetime, timedelta

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import NOT_REPORTED, FailureDocument
from gpuaas_server.receipts.compare import Comparison, InspectionRequest, compare
from gpuaas_server.work.reconcilers import Wait

TRANSITIONS: dict[str, frozenset[str]] = {
    "pending": frozenset({"clean", "left", "unseen", "not_verified"}),
    "left": frozenset({"not_verified"}),
    "unseen": frozenset({"not_verified"}),
    "clean": frozenset(),
    "not_verified": frozenset(),
}
# A host that is there answers in seconds; one that comes back from a restart gets its chance.
INSPECTION = timedelta(minutes=2)
ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class InspectionReport:
    """The newest `inspect` task of the receipt, as the agent last reported it."""

    generation: int
    status: str  # pending, succeeded, failed, refused, expired, superseded
    result: dict[str, object]
    evidence: dict[str, object]
    failure: FailureDocument | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    status: str
    attempt: int  # the generation of the task that we wait for
    deadline_at: datetime
    node_lost: bool
    asked: InspectionRequest
    look: InspectionReport | None


@dataclass(frozen=True, slots=True)
class Retry:
    """Ask the host once more."""

    attempt: int


def decide(now: Snapshot, clock: datetime) -> Comparison | Retry | Wait:
    if now.status != "pending":
        return Wait()
    look = now.look if now.look is not None and now.look.generation == now.attempt else None
    if look is not None and look.status == "succeeded":
        found = compare(now.asked, look.result, look.evidence)
        return Retry(now.attempt + 1) if _awaits_revocation(found) and clock < now.deadline_at else found
    if look is not None and look.status in ("failed", "refused"):
        return _failed(now, look, clock)
    if clock >= now.deadline_at or (look is not None and look.status == "expired"):
        return _silent(now)
    return Wait(now.deadline_at)


def _awaits_revocation(found: Comparison) -> bool:
    """Say whether the host may not have heard yet which certificates have ended: another task tells it.
    An inspection with a finding takes seconds, so asking again at once is not too soon.
    """
    return [check.name for check in found.checks if check.verdict == "left"] == ["credentials"]


def _silent(now: Snapshot) -> Comparison:
    why = "its node is lost" if now.node_lost else "there was no report in time"
    return Comparison("unseen", "host_unreachable", f"The host did not respond: {why}.")


def _failed(now: Snapshot, look: InspectionReport, clock: datetime) -> Comparison | Retry:
    failure = look.failure or NOT_REPORTED
    code = str(failure.get("code") or "")
    if code == "task_kind_unknown":
        return Comparison("unseen", "agent_too_old", "The agent of the host is too old for this inspection.")
    if code == "allocation_not_here":
        return Comparison("unseen", "allocation_ended", "The allocation is no longer on the host.")
    if failure.get("retryable") is True and now.attempt < ATTEMPTS and clock < now.deadline_at:
        return Retry(now.attempt + 1)
    said = f" ({code[:60]})" if code else ""
    return Comparison(
        "unseen", "inspection_failed", f"{str(failure.get('message') or 'The inspection failed.')[:400]}{said}"
    )
