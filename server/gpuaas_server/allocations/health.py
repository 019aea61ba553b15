"""The health of an allocation, derived from its row and its host's whenever it is read. Pure."""

from collections.abc import Iterator
from datetime import datetime

from gpuaas_server.allocations.rows import AllocationFailure, AllocationRow
from gpuaas_server.allocations.schemas import AllocationHealthReason
from gpuaas_server.kernel.http.schemas import HealthStatus

_UNDER_WAY = ("requested", "provisioning", "releasing")


def health_of(row: AllocationRow) -> tuple[HealthStatus | None, list[AllocationHealthReason]]:
    """Return the status, and the reasons with the worst first. An allocation that has ended has no health."""
    if row.ended_at is not None:
        return None, []
    found = list(_findings(row))
    reasons = [reason for _, reason in found]
    for status in ("unhealthy", "degraded"):
        if any(worst == status for worst, _ in found):
            return status, reasons
    return ("progressing" if row.state in _UNDER_WAY else "healthy"), reasons


def _findings(row: AllocationRow) -> Iterator[tuple[HealthStatus, AllocationHealthReason]]:
    """Yield what each fact makes of the health. A notice about something to come leaves it healthy."""
    failure = row.failure
    if row.state in ("failed", "release_failed"):
        yield "unhealthy", _failed(row, failure)
        return
    if row.host_lost_since is not None:
        yield "unhealthy", _HOST_LOST.model_copy(update={"since": row.host_lost_since})
    if failure is not None:
        yield "degraded", _failed(row, failure).model_copy(update={"code": "access_not_applied"})
    if row.state not in ("requested", "provisioning", "active"):
        return
    if row.report_id is not None:
        yield "degraded", _REPORTED.model_copy(update={"since": row.reported_at})
    announced = row.window_state is not None
    if announced:
        yield "degraded" if row.window_state == "active" else "healthy", _announced(row)
    if row.host_draining:
        yield "degraded", _maintenance(row, "host_draining", "The host is being emptied; this allocation is released.")
    elif row.host_drain_at is not None:
        yield "healthy", _drain_planned(row, row.host_drain_at)
    elif row.host_cordoned and not (announced and row.window_cordoned_at == row.host_cordoned_since):
        yield "healthy", _maintenance(row, "host_cordoned", "The host takes no new allocations; this one stays.")


_HOST_LOST = AllocationHealthReason(
    code="host_lost",
    message="The host does not respond.",
    since=None,
    next_step="Wait for it, or replace the allocation: its GPUs are wiped when the host is back.",
    choices=["wait", "release", "replace"],
)


_REPORTED = AllocationHealthReason(
    code="reported_broken",
    message="The host was reported as broken. When it is released, operators look at it before anybody gets it.",
    since=None,
    next_step="Replace the allocation, or release it.",
    choices=["release", "replace"],
)


def _failed(row: AllocationRow, failure: AllocationFailure | None) -> AllocationHealthReason:
    return AllocationHealthReason(
        code=failure["code"] if failure else row.state,
        message=failure["message"] if failure else f"The allocation is {row.state}.",
        since=row.state_since,
        next_step=failure["next_step"] if failure else "Read its timeline.",
        choices=["wait"],
    )


def _announced(row: AllocationRow) -> AllocationHealthReason:
    going_on = row.window_state == "active"
    sentence = "The host is in maintenance and may be offline." if going_on else "Maintenance of the host is planned."
    return AllocationHealthReason(
        code="maintenance_active" if going_on else "maintenance_planned",
        message=f"{sentence} Reason: {row.window_reason}.",
        since=row.window_starts_at,
        until=row.window_ends_at,
        next_step="Save what you need, or replace the allocation. It goes on afterwards if the host comes back as it was.",
        choices=["wait", "release", "replace"],
    )


def _drain_planned(row: AllocationRow, drain_at: datetime) -> AllocationHealthReason:
    sentence = f"The host is drained from {drain_at:%Y-%m-%d %H:%M} UTC on; this allocation is released then."
    notice = _maintenance(row, "host_drain_planned", sentence)
    step = "Save what you need, and replace the allocation before then."
    return notice.model_copy(update={"since": drain_at, "next_step": step})


def _maintenance(row: AllocationRow, code: str, sentence: str) -> AllocationHealthReason:
    why = f" Reason: {row.host_cordon_reason}." if row.host_cordon_reason else ""
    return AllocationHealthReason(
        code=code,
        message=f"{sentence}{why}",
        since=row.host_cordoned_since,
        next_step="Save what you need, and replace the allocation in your own time.",
        choices=["wait", "release", "replace"],
    )
