"""The health of a member, from its status and from what the platform knows of its host and its probes. Pure."""

from datetime import datetime

from gpuaas_server.instances.rows import MemberRow, ReasonDocument
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.schemas import HealthStatus

# The codes of failures that a controller has reported outside a failed operation.
REPORTED_CODES = frozenset({"member_failed", "member_degraded"})


@dataclass(frozen=True, slots=True)
class MemberProblem:
    """A problem of a member. `health` is the best that a member with it can be."""

    code: str
    health: HealthStatus
    message: str
    next_step: str
    since: datetime

    def reason(self) -> ReasonDocument:
        return {"code": self.code, "message": self.message, "next_step": self.next_step}


_HEALTH_OF_STATUS: dict[str, HealthStatus] = {
    "pending": "progressing",
    "joining": "progressing",
    "ready": "healthy",
    "degraded": "degraded",
    "draining": "progressing",
    "drained": "unknown",
    "removing": "progressing",
    "failed": "unhealthy",
}


def problem_of(member: MemberRow, busy: bool) -> MemberProblem | None:
    """Return the worst that is known against the member. `busy`: an operation works on the whole instance."""
    host = _host_problem(member)
    if host is not None and host.health == "unhealthy":
        return host
    return _probe_problem(member, busy) or host


def _probe_problem(member: MemberRow, busy: bool) -> MemberProblem | None:
    """Return the first probe that fails. A member that is in an operation is not judged, and one that is not ready has a
    reason of its own, which stands.
    """
    return None if busy or member.operation_id is not None else _failing_probe(member)


def _failing_probe(member: MemberRow) -> MemberProblem | None:
    if member.status != "ready" or member.host_gone:
        return None
    failing = ((key, state) for key, state in sorted(member.probe_states.items()) if state["status"] == "failing")
    for key, state in failing:
        return MemberProblem(
            code="probe_failing",
            health="unhealthy",
            message=f"Probe {key} fails: {state['answer'] or 'no answer'}.",
            next_step="Read the member's logs; then restart the instance, or recover or replace the member.",
            since=datetime.fromisoformat(state["since"]),
        )
    return None


def _host_problem(member: MemberRow) -> MemberProblem | None:
    """Return the worst that is known: the host does not respond, or its tenant reported it as broken.

    A member that is gone, or whose allocation has ended, has no host any more.
    """
    if member.removed_at is not None or member.host_gone:
        return None
    lost_since, reported_at = member.host_lost_since, member.host_reported_at
    if lost_since is not None:
        return MemberProblem(
            code="host_lost",
            health="unhealthy",
            message="The host does not respond.",
            next_step="Wait for the host, or replace the member with one on another allocation.",
            since=lost_since,
        )
    if reported_at is not None:
        return MemberProblem(
            code="reported_broken",
            health="degraded",
            message="The host was reported as broken.",
            next_step="Replace the member with one on another allocation.",
            since=reported_at,
        )
    return None


def health_as_found(member: MemberRow) -> HealthStatus | None:
    """Return the health that an operation finds at its claim, by the member's status and its probes. What is known of the
    host is left out: the controller reaches it or does not.
    """
    return member_health(member.status, _failing_probe(member))


def member_health(status: str, problem: MemberProblem | None) -> HealthStatus | None:
    """Derive the member's health; None for a member that is gone."""
    if status == "removed":
        return None
    own = _HEALTH_OF_STATUS[status]
    if problem is None or own == "unhealthy":
        return own
    return problem.health
