"""Decides whether members are ready, from what their hosts say of the readiness probes. Pure.

A member is given the time that its probes take: the start period, then as many failures in a row as count. A host that
says nothing by then, and a little longer, has not shown that its member is ready.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from datetime import datetime, timedelta

from gpuaas_server.host_tasks.service import TaskRow
from gpuaas_server.instances.probe_documents import ProbeDocument
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import Failure, FailureDocument, failure

REPORT_GRACE = timedelta(seconds=30)  # for the host's report of a probe that took all its time
# Why a member is not ready, as its host sees it: a report of the app's controller does not change it.
CODES = ("readiness_timeout", "probe_not_run")


@dataclass(frozen=True, slots=True)
class Readiness:
    """`unready`: members that will not be ready, with the reason; `until`: when the next silent one is given up."""

    waiting: bool = False
    unready: Mapping[str, Failure] = field(default_factory=dict)
    until: datetime | None = None


def is_readiness(probe: ProbeDocument) -> bool:
    return "readiness" in probe["purpose"]


def longest_start(probes: Iterable[ProbeDocument]) -> timedelta:
    """Return how long the slowest of the probes may take to pass."""
    seconds = (
        probe["start_period_seconds"] + probe["failures"] * (probe["interval_seconds"] + probe["timeout_seconds"])
        for probe in probes
    )
    return timedelta(seconds=max(seconds, default=0))


def ready_by(member: MemberRow) -> datetime | None:
    """Return when the member is given up, if it is not ready then; None where no readiness probe is run."""
    probes = [probe for probe in member.probes if is_readiness(probe)]
    if member.watch is None or not probes:
        return None
    return datetime.fromisoformat(member.watch["since"]) + longest_start(probes) + REPORT_GRACE


def judge_readiness(members: Sequence[MemberRow], tasks: Mapping[str, TaskRow], now: datetime) -> Readiness:
    """Judge the members that an operation made ready; `tasks` are the newest probe tasks, by member."""
    unready: dict[str, Failure] = {}
    waited_for: list[datetime] = []
    for member in members:
        until = ready_by(member)
        if until is None:
            continue
        why = _why_unready(member, tasks.get(member.id), until, now)
        if why is not None:
            unready[member.id] = why
        elif not _has_passed(member):
            waited_for.append(until)
    return Readiness(bool(waited_for), unready, min(waited_for, default=None))


def summarize(unready: Mapping[str, Failure]) -> Failure | None:
    """Return one failure for all of them: of several, the first ones are named."""
    reasons = list(unready.values())
    if len(reasons) < 2:
        return reasons[0] if reasons else None
    more = f" and {len(reasons) - 5} more" if len(reasons) > 5 else ""
    listed = " ".join(reason.message for reason in reasons[:5])
    return failure(reasons[0].code, f"{len(reasons)} members are not ready{more}. {listed}")


def _has_passed(member: MemberRow) -> bool:
    return all(_passes(member, probe["key"]) for probe in member.probes if is_readiness(probe))


def _why_unready(member: MemberRow, task: TaskRow | None, until: datetime, now: datetime) -> Failure | None:
    name = f"Member {member.id} ({member.component_key}/{member.ordinal})"
    if member.host_gone or member.status == "failed":
        return failure("probe_not_run", f"{name} has no host any more, or has failed: {_message(member.failure)}")
    states = member.probe_states
    for probe in (one for one in member.probes if is_readiness(one)):
        state = states.get(probe["key"])
        if state is not None and state["status"] == "failing":
            return failure(
                "readiness_timeout", f"{name}: probe {probe['key']} did not pass: {_quoted(state['answer'])}."
            )
    if _is_refused(member, task) and task is not None:
        return failure("probe_not_run", f"{name}: the host could not run its probes: {_refusal(task)}")
    if now < until or _has_passed(member):
        return None
    silent = next(one["key"] for one in member.probes if is_readiness(one) and not _passes(member, one["key"]))
    last = states.get(silent)
    said = "the host has not answered" if last is None else _quoted(last["answer"])
    return failure("readiness_timeout", f"{name}: probe {silent} did not pass in time: {said}.")


def _passes(member: MemberRow, key: str) -> bool:
    state = member.probe_states.get(key)
    return state is not None and state["status"] == "passing"


def _is_refused(member: MemberRow, task: TaskRow | None) -> bool:
    """Tell whether the host has said that it does not run the probes."""
    current = member.watch is not None and task is not None and task.generation == member.watch["generation"]
    return current and task is not None and task.status in ("failed", "refused")


def _refusal(task: TaskRow) -> str:
    told = task.failure
    if told is None:
        return "it did not say why."
    if told["code"] == "task_kind_unknown":
        return "its agent is too old. Update the agent."
    return f"{told['message'][:300]} ({told['code'][:60]})"


def _message(told: FailureDocument | None) -> str:
    return "" if told is None else told["message"]


def _quoted(answer: str) -> str:
    return f"its last answer was “{answer}”" if answer else "it gave no answer"
