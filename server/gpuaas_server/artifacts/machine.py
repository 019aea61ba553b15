"""Decides what happens next to a publish intent, and what a check of an artifact means. Pure.

open → verifying → registered; failed, expired and cancelled are the other ends, whose bytes are then discarded.
"""

from datetime import datetime, timedelta
from enum import Enum, StrEnum

from gpuaas_server.artifacts.stages import Trust
from gpuaas_server.kernel.dataclass import dataclass

DELETE = "artifact_delete"  # the kind of work that removes an artifact with its bytes


class IntentState(StrEnum):
    OPEN = "open"
    VERIFYING = "verifying"
    REGISTERED = "registered"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"


INTENT_TRANSITIONS: dict[IntentState, frozenset[IntentState]] = {
    IntentState.OPEN: frozenset({IntentState.VERIFYING, IntentState.EXPIRED, IntentState.CANCELLED}),
    IntentState.VERIFYING: frozenset({IntentState.REGISTERED, IntentState.FAILED}),
    IntentState.REGISTERED: frozenset(),
    IntentState.FAILED: frozenset(),
    IntentState.EXPIRED: frozenset(),
    IntentState.CANCELLED: frozenset(),
}
ENDED = frozenset(state for state, after in INTENT_TRANSITIONS.items() if not after)
EXTERNAL_LIMIT = timedelta(minutes=10)  # for an external registry to answer: only manifests are read
CHECK_LIMIT = timedelta(hours=1)  # for reading every byte again, and longer for more bytes than this takes:
SLOWEST_READ = 32 << 20  # bytes a second
LONGEST_UPLOAD = timedelta(days=7)  # in parts, from the intent to its completion
RETRY_PAUSE = timedelta(seconds=5)


class IntentStep(Enum):
    WAIT = "wait"  # for the publisher, until the deadline
    EXPIRE = "expire"
    VERIFY = "verify"
    GIVE_UP = "give_up"  # the store or the registry stayed unavailable for too long
    DISCARD = "discard"
    NOTHING = "nothing"


def next_step(state: IntentState, deadline_at: datetime | None, now: datetime) -> IntentStep:
    if state is IntentState.REGISTERED:
        return IntentStep.NOTHING
    if state in ENDED:
        return IntentStep.DISCARD
    late = deadline_at is not None and deadline_at <= now
    if state is IntentState.OPEN:
        return IntentStep.EXPIRE if late else IntentStep.WAIT
    return IntentStep.GIVE_UP if late else IntentStep.VERIFY


def check_limit(size_bytes: int) -> timedelta:
    """Return how long a check of so many bytes may take, with interruptions."""
    return CHECK_LIMIT + timedelta(seconds=size_bytes // SLOWEST_READ)


def parts_deadline(created_at: datetime, now: datetime, grace: timedelta) -> datetime:
    """Return when an upload in parts expires unless there is a further sign of its publisher."""
    return min(now + grace, created_at + LONGEST_UPLOAD)


@dataclass(frozen=True, slots=True)
class Findings:
    """Holds what a check saw: whether the bytes are those of the digest, how many signatures, and whose."""

    mismatch: str | None
    signatures: int
    signed_by: frozenset[str]


@dataclass(frozen=True, slots=True)
class TrustVerdict:
    trust: Trust
    detail: str
    signed_by: frozenset[str]


def verdict(before: Trust, findings: Findings, trusted_keys: int) -> TrustVerdict:
    """Judge the findings. Revoked stays revoked, and without a trust key of the tenant no signature can be checked."""
    if before is Trust.REVOKED:
        return TrustVerdict(before, "revoked", findings.signed_by)
    if findings.mismatch is not None:
        return TrustVerdict(Trust.FAILED, findings.mismatch, frozenset())
    if findings.signed_by:
        return TrustVerdict(Trust.VERIFIED, f"signed by {len(findings.signed_by)} trust key(s)", findings.signed_by)
    if findings.signatures and trusted_keys:
        return TrustVerdict(Trust.FAILED, "signed, but by no trust key of the tenant", frozenset())
    return TrustVerdict(
        Trust.UNVERIFIED, "signed by keys unknown here" if findings.signatures else "not signed", frozenset()
    )
