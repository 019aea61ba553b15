"""The life of an operation: what happens to it when nobody says anything, from a snapshot and the time alone.

    pending → claimed → running → succeeded
       ↑         ↓         ↓        failed, cancelled, expired
       └── the controller's lease lapsed, or it gave the work back

The controller's word is not always enough. After a teardown the operation stays running, in the phase `verifying`, until
the hosts have been looked at; after a start, in the phase `probing`, until the members' readiness probes pass on them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import Failure, failure
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work.reconcilers import Wait

# Which states may follow which; the docs' diagram and the property tests read this table.
TRANSITIONS: dict[str, frozenset[str]] = {
    "pending": frozenset({"claimed", "running", "failed", "cancelled", "expired"}),
    "claimed": frozenset({"running", "pending", "succeeded", "failed", "cancelled", "expired"}),
    "running": frozenset({"pending", "succeeded", "failed", "cancelled", "expired"}),
    "succeeded": frozenset(),
    "failed": frozenset(),
    "cancelled": frozenset(),
    "expired": frozenset(),
}
LIVE = ("pending", "claimed", "running")
LEASED = ("claimed", "running")
VERIFYING = "verifying"
PROBING = "probing"


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits that settings put on leases, proofs and attempts."""

    lease: timedelta
    verify: timedelta
    attempts: int

    @classmethod
    def of(cls, settings: Settings) -> "Limits":
        return cls(
            timedelta(seconds=settings.operation_lease_seconds),
            timedelta(seconds=settings.operation_verify_seconds),
            settings.operation_attempts,
        )


@dataclass(frozen=True, slots=True)
class Evidence:
    """Holds what the hosts said: whether some have not answered yet, what is left of a teardown, and why members are not ready.

    `until`: when those that are silent by then are given up.
    """

    waiting: bool = False
    left: Sequence[str] = ()
    unready: Failure | None = None
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Snapshot:
    id: str
    kind: str
    target: str
    status: str
    phase: str | None
    attempt: int
    lease_until: datetime | None
    deadline_at: datetime
    cancel_requested: bool
    most_attempts: int
    evidence: Evidence | None = None  # in the phases `verifying` and `probing`


@dataclass(frozen=True, slots=True)
class Step:
    """The status that follows, and why, where it is not a success."""

    status: str
    failure: Failure | None = None


def decide(now: Snapshot, clock: datetime) -> Step | Wait:
    if now.status not in LIVE or now.target == "bulk":  # a bulk operation follows its children
        return Wait()
    if now.phase in (VERIFYING, PROBING):
        return _verifying(now, clock)
    if clock >= now.deadline_at:
        return Step("expired", failure("deadline_exceeded", f"The {now.kind} was not done before its deadline."))
    if now.status in LEASED and now.lease_until is not None:
        return _leased(now, now.lease_until, clock)
    return Wait(now.deadline_at)


def _leased(now: Snapshot, lease_until: datetime, clock: datetime) -> Step | Wait:
    if clock < lease_until:
        return Wait(min(lease_until, now.deadline_at))
    if now.cancel_requested:
        return Step(
            "cancelled", failure("cancelled", "The operation was cancelled, and its controller did not respond.")
        )
    if now.attempt >= now.most_attempts:
        return Step("failed", failure("controller_lost", f"{now.attempt} attempts ended without a report."))
    return Step("pending")  # another replica resumes


def _verifying(now: Snapshot, clock: datetime) -> Step | Wait:
    evidence = now.evidence or Evidence(waiting=True)
    if evidence.left:
        return Step("failed", failure("teardown_incomplete", _sentence(evidence.left)))
    if evidence.unready is not None:
        return Step("failed", evidence.unready)
    if not evidence.waiting:
        return Step("succeeded")
    if clock >= now.deadline_at:
        return Step("failed", _unproven(now))
    return Wait(min(now.deadline_at, evidence.until or now.deadline_at))


def _unproven(now: Snapshot) -> Failure:
    if now.phase == PROBING:
        return failure("readiness_timeout", "A host did not report in time whether its member is ready.")
    return failure("teardown_incomplete", "A host did not report in time what is left on it.")


def _sentence(left: Sequence[str]) -> str:
    """Write a sentence with the leftovers and the hosts that could not be examined, each once."""
    once = list(dict.fromkeys(left))
    more = f" and {len(once) - 10} more" if len(once) > 10 else ""
    return f"Not proven to be gone: {', '.join(once[:10])}{more}."


def possible_actions(status: str, phase: str | None, target: str, cancel_requested: bool, forcible: bool) -> list[str]:
    """List what could be done with the operation now, as actions of the policy; who may do it is not decided here."""
    actions = []
    if status in LIVE and not cancel_requested and phase != VERIFYING:
        actions.append("operation_cancel")
    if target != "bulk" and forcible:
        actions.append("operation_force")
    return actions


@dataclass(frozen=True, slots=True)
class BulkStep:
    """Tells what a bulk operation does after one of its children has changed."""

    status: str
    failure: Failure | None = None
    offer: str | None = None  # the child whose turn it is
    cancel: tuple[str, ...] = ()  # children that are not to be begun any more


def decide_bulk(status: str, on_failure: str, children: Sequence[tuple[str, str, bool]]) -> BulkStep:
    """Decide from (id, status, deferred) of every child, in their order."""
    waiting = [one for one, state, _ in children if state == "pending"]
    broken = [one for one, state, _ in children if state in ("failed", "expired", "cancelled")]
    begun = any(state != "pending" for _, state, _ in children)
    if broken and on_failure == "stop" and waiting:
        return BulkStep("running", cancel=tuple(waiting))
    if all(state not in LIVE for _, state, _ in children):
        return BulkStep(_bulk_end(children), _bulk_failure(len(broken), len(children)) if broken else None)
    busy = any(state in LEASED or (state == "pending" and not deferred) for _, state, deferred in children)
    offer = None if busy or not waiting else waiting[0]
    return BulkStep("running" if begun else status, offer=offer)


def _bulk_end(children: Sequence[tuple[str, str, bool]]) -> str:
    ends = {state for _, state, _ in children}
    if ends == {"succeeded"}:
        return "succeeded"
    return "cancelled" if ends <= {"succeeded", "cancelled"} else "failed"


def _bulk_failure(broken: int, total: int) -> Failure:
    return failure("member_operations_failed", f"{broken} of {total} did not succeed; each has its reason.")
