"""Decides when the platform itself asks for a `reconcile`, because members are not as they should be. Pure: no clock, no
database.

Attempts are few in a window of time, each waits longer than the one before, and after the last one a person decides. What
was well for a while starts again from the first pause.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gpuaas_server.instances.drift_rows import Drift, DriftedMember, ObstacleDocument
from gpuaas_server.instances.member_problems import REPORTED_CODES, problem_of
from gpuaas_server.instances.readiness import CODES as READINESS_CODES
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import Failure

BUDGET = 3  # attempts in a window
WELL_FOR = timedelta(minutes=30)  # after so long without drift, the pauses begin anew and a stop is over
MOST_NAMED = 50
# What an app's controller can mend: that it reported a member itself, or that a probe does not pass. A member that failed in
# a person's operation has a reason of its own, which that person was told.
MENDABLE = REPORTED_CODES | frozenset(READINESS_CODES)
# An app that does not take the operation will not take it the next time.
HOPELESS = frozenset({"not_supported"})


@dataclass(frozen=True, slots=True)
class DriftView:
    """Holds what the decision depends on. `live`: the operation on the instance or a member; `obstacle`: why the app's
    controller could not carry out a reconcile now.
    """

    policy: str
    drift: Drift
    found: Sequence[DriftedMember]
    live: str | None = None
    obstacle: ObstacleDocument | None = None


@dataclass(frozen=True, slots=True)
class DriftStep:
    """Tells what is kept, whether a reconcile is requested now, and what people are told."""

    drift: Drift
    attempt: bool = False
    events: tuple[str, ...] = ()


def drifted_members(status: str, members: Iterable[MemberRow], known: Container[str]) -> tuple[DriftedMember, ...]:
    """Find the members that a reconcile could mend. `known`: those that drifted before; they count until they are well.

    An instance that does not run is not wanted to. A member without its host, on a broken one, or on its way out is for a
    person to replace.
    """
    if status != "running":
        return ()
    found = (_drifted(member, known) for member in members)
    return tuple(one for one in found if one is not None)[:MOST_NAMED]


def _drifted(member: MemberRow, known: Container[str]) -> DriftedMember | None:
    unreachable = member.host_gone or member.host_lost_since is not None or member.host_reported_at is not None
    if unreachable or member.leaving or member.operation_id is not None:
        return None
    if member.status in ("failed", "degraded") and member.failure is not None:
        if member.failure["code"] not in MENDABLE and member.id not in known:
            return None
        return _named(member, member.failure["code"], member.failure["message"])
    problem = problem_of(member, busy=False)
    return None if problem is None else _named(member, problem.code, problem.message)


def _named(member: MemberRow, code: str, message: str) -> DriftedMember:
    return {"member_id": member.id, "component_key": member.component_key, "code": code, "message": message}


def needs_decision(view: DriftView) -> bool:
    """Tell whether something has changed that the decision depends on. Nothing is decided while an operation is live: its end
    changes the instance, which is asked about then.
    """
    drift = view.drift
    if view.live is not None:
        return False
    found = () if view.policy == "off" else view.found
    if _keys(found) != _keys(drift.members):
        return True
    waiting = drift.stopped is None and drift.next_attempt_at is None
    return bool(found) and view.policy == "auto" and waiting


def _keys(members: Iterable[DriftedMember]) -> set[tuple[str, str]]:
    return {(one["member_id"], one["code"]) for one in members}


def decide(view: DriftView, now: datetime) -> DriftStep:
    """Decide what the notice of drift leads to: nothing, a later look, a reconcile, or a stop that a person ends."""
    if view.live is not None:
        return DriftStep(replace(view.drift, next_attempt_at=None, blocked=None))
    drift, events = _update_noticed(view, now)
    drift = replace(drift, attempts=drift.recent(now), next_attempt_at=None, blocked=None)
    due = drift.due_at()
    if view.policy != "auto" or due is None or drift.stopped is not None:
        return DriftStep(drift, events=events)
    if len(drift.attempts) >= BUDGET:
        return DriftStep(replace(drift, stopped=_used_up(drift)), events=(*events, "instance.reconcile_stopped"))
    if view.obstacle is not None:
        return DriftStep(replace(drift, blocked=view.obstacle), events=events)
    if now < due:
        return DriftStep(replace(drift, next_attempt_at=due), events=events)
    begun = replace(drift, attempts=(*drift.attempts, now), streak=drift.streak + 1)
    return DriftStep(begun, attempt=True, events=events)


def _update_noticed(view: DriftView, now: datetime) -> tuple[Drift, tuple[str, ...]]:
    """Return the stored drift, updated with what was found now, and the events about the difference."""
    drift, found = view.drift, () if view.policy == "off" else tuple(view.found)
    if not found:
        if drift.noticed_at is None:
            return drift, ()
        return replace(drift, noticed_at=None, cleared_at=now, members=()), ("instance.drift_cleared",)
    if drift.noticed_at is not None:
        return replace(drift, members=found), ()
    if drift.cleared_at is not None and now - drift.cleared_at >= WELL_FOR:
        drift = replace(drift, streak=0, stopped=None)
    return replace(drift, noticed_at=now, members=found), ("instance.drift_noticed",)


def end_attempt(drift: Drift, status: str, failure: Failure | None, now: datetime) -> Drift:
    """Record how an attempt ended. If a person cancelled it, the attempts stop."""
    ended = replace(drift, operation_id=None, ended_at=now)
    if status == "cancelled":
        return replace(ended, stopped=_stop("cancelled", "The reconcile that the platform requested was cancelled"))
    if failure is not None and failure.code in HOPELESS:
        return replace(ended, stopped=_stop(failure.code, "The app's controller does not support reconcile"))
    return ended


def set_aside(drift: Drift) -> Drift:
    """Return what is kept of an attempt that gave way before it began: it does not count."""
    return replace(drift, operation_id=None, attempts=drift.attempts[:-1], streak=max(0, drift.streak - 1))


def restarted(drift: Drift) -> Drift:
    """Return what is kept after a person has set the policy: attempts begin anew."""
    return replace(drift, attempts=(), streak=0, ended_at=None, next_attempt_at=None, blocked=None, stopped=None)


def _used_up(drift: Drift) -> ObstacleDocument:
    last = f" (the last was {drift.last_operation_id})" if drift.last_operation_id else ""
    return _stop("budget_used_up", f"{len(drift.attempts)} attempts in an hour did not help{last}")


def _stop(code: str, what: str) -> ObstacleDocument:
    return {
        "code": code,
        "message": f"{what}; the platform requests no further one.",
        "next_step": "Read the operation's steps and the members' logs and mend the cause; then set the reconcile policy to"
        " `auto` again. After 30 minutes without drift it starts again by itself.",
    }
