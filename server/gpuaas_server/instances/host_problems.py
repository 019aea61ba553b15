"""The health of a member, from its status and from what the platform knows of its host. Pure."""

from dataclasses import dataclass
from datetime import datetime

from gpuaas_server.instances.rows import MemberRow, ReasonDocument
from gpuaas_server.kernel.http.schemas import HealthStatus


@dataclass(frozen=True, slots=True)
class HostProblem:
    """`health` is the best that a member with such a host can be."""

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


def host_problem_of(member: MemberRow) -> HostProblem | None:
    """Return the worst that is known: the host does not respond, or its tenant reported it as broken.

    A member that is gone, or whose allocation has ended, has no host any more.
    """
    if member.removed_at is not None or member.host_gone:
        return None
    lost_since, reported_at = member.host_lost_since, member.host_reported_at
    if lost_since is not None:
        return HostProblem(
            code="host_lost",
            health="unhealthy",
            message="The host does not respond.",
            next_step="Wait for the host, or replace the member with one on another allocation.",
            since=lost_since,
        )
    if reported_at is not None:
        return HostProblem(
            code="reported_broken",
            health="degraded",
            message="The host was reported as broken.",
            next_step="Replace the member with one on another allocation.",
            since=reported_at,
        )
    return None


def member_health(status: str, host: HostProblem | None) -> HealthStatus | None:
    """Derive the member's health; None for a member that is gone."""
    if status == "removed":
        return None
    own = _HEALTH_OF_STATUS[status]
    if host is None or own == "unhealthy":
        return own
    return host.health
