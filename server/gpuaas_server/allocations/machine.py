"""The life of an allocation: what to do next, from a snapshot and the time alone.

    requested → provisioning → active → releasing → released
                     ↓                      ↓
                   failed             release_failed → releasing (retry) or released (forced, with evidence)

A failed allocation is cleaned up like a released one: its slots come back only when the wipe is proven.
A release on a lost host is blocked at once (`host_lost`), and goes on by itself when the host is back.
"""

from dataclasses import field
from datetime import datetime, timedelta

from gpuaas_server.allocations.rows import AllocationChanges
from gpuaas_server.allocations.wipe_proof import BEFORE_GRADES, Requirements, Verification, judge_wipe
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import NOT_REPORTED, Failure, FailureDocument, failure
from gpuaas_server.kernel.ssh_targets import SshEndpoint, check_reported_endpoint
from gpuaas_server.work.reconcilers import Wait

# Which states may follow which; the docs' diagram and the property tests read this table.
TRANSITIONS: dict[str, frozenset[str]] = {
    "requested": frozenset({"provisioning", "releasing"}),
    "provisioning": frozenset({"active", "failed", "releasing"}),
    "active": frozenset({"releasing"}),
    "releasing": frozenset({"released", "release_failed"}),
    "failed": frozenset({"release_failed"}),
    "release_failed": frozenset({"releasing", "released"}),
    "released": frozenset(),
}
# Host tasks that end an allocation, in order. The last one proves; only its proof frees the slots.
ACCESS_FIRST_PAUSE, ACCESS_LONGEST_PAUSE = timedelta(seconds=1), timedelta(minutes=5)
# The account that hosts are asked to make for tenants.
LOGIN_USER = "gpu"
WIPE = "wipe"
CLEANUP = ("deprovision", WIPE, "verify_wipe")
# Why a release is blocked that nobody has to answer for: it goes on by itself when the host is back.
HOST_LOST = "host_lost"
# What a release counts as from when its GPUs are in use no longer, until it is proven.
NOT_PROVEN: AllocationChanges = {"counted": False, "unproven": True}
NOT_VERIFIED: dict[str, object] = {"clean": False, "verified": False, "reason": HOST_LOST}


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits how long the machine waits and how often it tries; the settings decide."""

    provision: timedelta
    release: timedelta
    attempts: int


@dataclass(frozen=True, slots=True)
class HostTask:
    """The newest host task of the allocation, as the agent last reported it."""

    kind: str
    generation: int
    status: str  # pending, succeeded, failed, refused, expired, superseded
    result: dict[str, object]
    failure: FailureDocument | None
    evidence: dict[str, object]
    reported_at: datetime | None = None
    spec: dict[str, object] = field(default_factory=dict)  # what it was asked
    key_generation: int | None = None  # of the node's key that signed the report

    @property
    def baseline(self) -> str | None:
        """The digest of the host's baseline that the task worked with, where the driver has one."""
        digest = self.evidence.get("baseline_sha256")
        return digest if isinstance(digest, str) else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    id: str
    state: str
    generation: int
    host_generation: int
    phase: str | None
    attempt: int
    deadline_at: datetime | None
    node_lost: bool
    access_wanted: int
    access_sent: int
    baseline: str | None
    task: HostTask | None
    limits: Limits
    # The release was asked for: it begins when nothing has to leave any more, and then at the latest.
    release_by: datetime | None = None
    has_members: bool = False
    # The code of the failure, while the release is blocked.
    blocked_by: str | None = None
    # The generation of the node's key when the host was last told to deprovision: it must prove its wipe with a newer one.
    copied_key_generation: int | None = None
    # The addresses that belong to the node: a host is believed no other.
    addresses: frozenset[str] = frozenset()
    shape: str = "baremetal"
    requirements: Requirements = BEFORE_GRADES


@dataclass(frozen=True, slots=True)
class Step:
    """A step holds what is to be stored next. Fields that are None leave things as they are."""

    state: str  # the state after the step (may be the same)
    send: str | None = None  # a host task to write
    attempt: int = 0  # how often this phase was tried, with this step
    deadline_at: datetime | None = None
    failure: Failure | None = None  # of the phase that the snapshot is in
    slots: str | None = None  # what the claimed slots become
    ends: bool = False  # claims end, slots return to the pool
    evidence: dict[str, object] | None = None  # what the wipe verification saw
    ssh: SshEndpoint | None = None
    access_sent: int | None = None
    baseline: str | None = None
    phase_done: bool = False  # nothing is in flight any more

    @property
    def begins_release(self) -> bool:
        """Return whether a release begins with this step, or begins anew: what it has to prove is decided now."""
        return self.send == CLEANUP[0] and self.attempt == 1


def decide(now: Snapshot, clock: datetime) -> Step | Wait:
    if now.state == "requested":
        deadline = clock + now.limits.provision
        return Step("provisioning", send="provision", attempt=1, deadline_at=deadline)
    if now.state == "provisioning":
        return _provisioning(now, clock)
    if now.state == "active":
        return _active(now, clock)
    if now.state in ("releasing", "failed") and now.phase is not None:
        return _cleaning(now, clock)
    if now.state == "release_failed" and now.blocked_by == HOST_LOST and not now.node_lost:
        return _start_cleanup(now, clock)  # the host is back: only a proven wipe frees its slots
    return Wait()


def _overdue(now: Snapshot, clock: datetime) -> Failure | None:
    if now.deadline_at is None or clock < now.deadline_at:
        return None
    if now.node_lost:
        return failure("node_lost", "The node stopped responding before the host reported.")
    return failure("deadline_exceeded", f"The host did not finish {now.phase} in time.")


def _in_flight(now: Snapshot) -> HostTask | None:
    """Return the task that is waited for; None while the newest row is an older one (its successor is not written yet)."""
    return now.task if now.task is not None and now.task.generation == now.host_generation else None


def _reported_failure(task: HostTask) -> Failure:
    reported = task.failure or NOT_REPORTED
    message = str(reported.get("message") or f"{task.kind} {task.status} on the host.")
    if reported.get("code"):
        message = f"{message} ({reported['code']})"
    return failure("host_task_failed", message[:500], bool(reported.get("retryable", False)))


def _provisioning(now: Snapshot, clock: datetime) -> Step | Wait:
    task = _in_flight(now)
    if task is not None and task.status == "succeeded":
        ssh = check_reported_endpoint(task.result.get("ssh"), now.addresses, LOGIN_USER)
        if isinstance(ssh, SshEndpoint):
            return Step("active", ssh=ssh, baseline=task.baseline, phase_done=True)
        return _give_up(now, clock, failure("ssh_target_refused", ssh))
    overdue = _overdue(now, clock)
    if overdue is not None:
        return _give_up(now, clock, overdue)
    if task is None or task.status == "pending":
        return Wait(now.deadline_at)
    reason = _reported_failure(task)
    if reason.retryable and now.attempt < now.limits.attempts:
        deadline = now.deadline_at or clock + now.limits.provision
        return Step("provisioning", send="provision", attempt=now.attempt + 1, deadline_at=deadline)
    return _give_up(now, clock, reason)


def _give_up(now: Snapshot, clock: datetime, reason: Failure) -> Step:
    """Fail the provisioning at once, and clean up behind it."""
    deadline = clock + now.limits.release
    return Step("failed", send=CLEANUP[0], attempt=1, deadline_at=deadline, failure=reason, slots="cleaning")


def _active(now: Snapshot, clock: datetime) -> Step | Wait:
    """Decide about an active allocation. Access is kept in line also while members leave: whoever stops them logs in."""
    if now.release_by is None:
        return _access(now, clock)
    if not now.has_members or now.node_lost or clock >= now.release_by:
        return _start_cleanup(now, clock)
    step = _access(now, clock)
    return Wait(min(step.until or now.release_by, now.release_by)) if isinstance(step, Wait) else step


def _start_cleanup(now: Snapshot, clock: datetime) -> Step:
    deadline = clock + now.limits.release
    return Step("releasing", send=CLEANUP[0], attempt=1, deadline_at=deadline, slots="cleaning")


def _access(now: Snapshot, clock: datetime) -> Step | Wait:
    if now.access_wanted > now.access_sent:
        deadline = clock + now.limits.provision
        return Step("active", send="sync_access", attempt=1, deadline_at=deadline, access_sent=now.access_wanted)
    task = _in_flight(now)
    if now.phase != "sync_access" or task is None:
        return Wait()
    if task.status == "pending" and not _overdue(now, clock):
        return Wait(now.deadline_at)
    if task.status == "succeeded":
        return Step("active", phase_done=True)
    # Access that could not be changed (a revoked grant!) is tried again for as long as the allocation lives, and shown.
    pause = min(ACCESS_LONGEST_PAUSE, ACCESS_FIRST_PAUSE * 2 ** min(now.attempt - 1, 10))
    if task.reported_at is not None and clock < task.reported_at + pause:
        return Wait(task.reported_at + pause)
    return Step(
        "active",
        failure=_reported_failure(task),
        send="sync_access",
        attempt=now.attempt + 1,
        deadline_at=clock + now.limits.provision,
        access_sent=now.access_wanted,
    )


def _cleaning(now: Snapshot, clock: datetime) -> Step | Wait:
    if now.host_generation == 0:  # nothing ever reached the host, so there is nothing to clean
        return Step(_ended(now), ends=True, phase_done=True)
    task = _in_flight(now) if now.attempt > 0 else None
    if now.node_lost and not _verification_arrived(task):
        return _block(failure(HOST_LOST, "The host is lost, so the wipe waits for its return."), NOT_VERIFIED)
    if now.attempt == 0:  # the release was asked for, the host does not know it yet
        return Step(now.state, send=CLEANUP[0], attempt=1, deadline_at=clock + now.limits.release)
    if task is not None and task.status == "succeeded" and task.kind in CLEANUP:
        return _next_cleanup(now, task, clock)
    overdue = _overdue(now, clock)
    if overdue is not None:
        return _block(overdue)
    if task is None or task.status == "pending":
        return Wait(now.deadline_at)
    reason = _reported_failure(task)
    if reason.retryable and now.attempt < now.limits.attempts:
        again = task.kind if task.kind in CLEANUP else CLEANUP[0]
        return Step(now.state, send=again, attempt=now.attempt + 1, deadline_at=_release_by(now, clock))
    return _block(reason)


def _verification_arrived(task: HostTask | None) -> bool:
    """Tell whether the last phase has reported: its report counts, even when the host is lost since."""
    return task is not None and task.kind == CLEANUP[-1] and task.status == "succeeded"


def _ended(now: Snapshot) -> str:
    """Return the state after a clean-up: a failed allocation stays failed."""
    return "released" if now.state == "releasing" else now.state


def _release_by(now: Snapshot, clock: datetime) -> datetime:
    return now.deadline_at or clock + now.limits.release


def _next_cleanup(now: Snapshot, task: HostTask, clock: datetime) -> Step:
    position = CLEANUP.index(task.kind)
    if position + 1 < len(CLEANUP):
        return Step(now.state, send=CLEANUP[position + 1], attempt=1, deadline_at=_release_by(now, clock))
    if now.baseline is not None and task.baseline != now.baseline:
        # Whoever had root could have made the agent forget what the host looked like; we did not forget.
        other = failure("wipe_not_proven", "The host was compared with another baseline than the recorded one.")
        return _block(other, task.result)
    if now.copied_key_generation is not None and (task.key_generation or 0) <= now.copied_key_generation:
        old = "The host reported its verification with a key that its tenant could have copied."
        return _block(failure("node_key_not_rotated", old), task.result)
    verdict = judge_wipe(now.requirements, Verification(now.shape, task.spec, task.result, task.evidence))
    evidence = {**task.result, "evidence": task.evidence, "verdict": verdict.document(now.shape)}
    if verdict.code is None:
        return Step(_ended(now), ends=True, evidence=evidence, phase_done=True)
    return _block(failure(verdict.code, verdict.message), evidence)


def _block(reason: Failure, evidence: dict[str, object] | None = None) -> Step:
    """Block the slots, which are not proven clean: they stay out of the pool until somebody retries or forces it."""
    return Step("release_failed", failure=reason, slots="cleanup_blocked", evidence=evidence, phase_done=True)


def quota_marks(changes: AllocationChanges) -> AllocationChanges:
    """Return which quota an allocation counts against after the change, where that follows from it.

    What has ended counts against none. What is blocked is in use no longer, and counts as not proven clean. The loss of its
    host is no exception: root on a host can silence it, and would take host after host out of the fleet at no cost.
    """
    if changes.get("ended_at") is not None:
        return {"counted": False, "unproven": False}
    if changes.get("state") == "release_failed":
        return NOT_PROVEN
    return {}


def possible_actions(state: str) -> list[str]:
    """List what can be done with the allocation now, as actions of the policy; who may do it is not decided here."""
    return {
        "requested": ["allocation_release"],
        "provisioning": ["allocation_release", "allocation_replace", "host_report_create"],
        "active": [
            "terminal_open",
            "ssh_certificate_create",
            "ssh_grant_create",
            "allocation_release",
            "allocation_replace",
            "host_report_create",
        ],
        "release_failed": ["allocation_retry_release", "allocation_force_cleanup"],
    }.get(state, [])
