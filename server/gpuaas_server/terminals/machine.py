"""The life of a terminal: what to do next, from a snapshot and the time alone.

    requested → open → ended
        ↓________________↑

The host's agent comes and takes it (`holder` is then the process that has its stream), a shell answers, and it is open.
A terminal never waits without a deadline: for the host and the person `open_by`, for its holder `lease_until`.
"""

from datetime import datetime, timedelta

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.failures import NOT_REPORTED, FailureDocument
from gpuaas_server.work.reconcilers import Wait

TRANSITIONS: dict[str, frozenset[str]] = {
    "requested": frozenset({"open", "ended"}),
    "open": frozenset({"ended"}),
    "ended": frozenset(),
}
# A holder says this often that it lives, and is believed for that long.
RENEWED = timedelta(seconds=10)
LEASE = timedelta(seconds=30)
# A holder ends what nobody watches by itself; only one that died needs somebody else to do it.
SLACK = timedelta(seconds=5)

END_MESSAGES = {
    "exited": "The shell has ended.",
    "idle": "Nothing was typed or shown for {idle} minutes, so the terminal was closed.",
    "max_time": "A terminal may stay open for {longest} hours; that time is over.",
    "closed": "The terminal was closed.",
    "host_lost": "The connection to the host was lost.",
    "released": "The allocation is being released.",
    "access_lost": "Your access to this allocation has ended.",
    "interrupted": "The connection through the platform was interrupted.",
    "not_opened": "The terminal could not be opened.",
}


@dataclass(frozen=True, slots=True)
class End:
    """Says why a terminal ended. `exit_status` is set only when the shell ended by itself."""

    reason: str
    message: str
    exit_status: int | None = None

    def document(self) -> dict[str, object]:
        return {
            "type": "ended",
            "reason": self.reason,
            "exit_status": self.exit_status,
            "message": self.message,
        }


def end(reason: str, message: str = "", exit_status: int | None = None) -> End:
    return End(reason, message or END_MESSAGES[reason], exit_status)


def idle_end(idle_seconds: int) -> End:
    minutes = f"{idle_seconds / 60:g}"
    return End("idle", END_MESSAGES["idle"].format(idle=minutes))


def longest_end(max_seconds: int) -> End:
    return End("max_time", END_MESSAGES["max_time"].format(longest=f"{max_seconds / 3600:g}"))


def exit_end(exit_status: int | None) -> End:
    with_status = f"The shell has ended with status {exit_status}." if exit_status else END_MESSAGES["exited"]
    return End("exited", with_status, exit_status)


@dataclass(frozen=True, slots=True)
class HostTask:
    """The task that asked the host, as its agent last reported it."""

    status: str  # pending, succeeded, failed, refused, expired, superseded
    failure: FailureDocument | None


@dataclass(frozen=True, slots=True)
class Snapshot:
    status: str
    open_by: datetime
    has_holder: bool
    lease_until: datetime | None
    node_lost: bool
    task: HostTask | None


def decide(now: Snapshot, clock: datetime) -> End | Wait:
    """Decide for a process that does not hold the terminal: its holder knows better, as long as its lease is valid."""
    if now.status == "ended":
        return Wait()
    if now.has_holder and now.lease_until is not None:
        return end("interrupted") if clock >= now.lease_until else Wait(now.lease_until)
    if now.task is not None and now.task.status in ("failed", "refused"):
        return _refused(now.task.failure or NOT_REPORTED)
    if clock >= now.open_by + SLACK:
        why = "its node is lost" if now.node_lost else "there was no report in time"
        return end("not_opened", f"The host could not open a terminal: {why}.")
    return Wait(now.open_by + SLACK)


def _refused(failure: FailureDocument) -> End:
    message = str(failure.get("message") or "The host could not open a terminal.")[:300]
    code = str(failure.get("code") or "")[:60]
    return end("not_opened", f"{message.rstrip('.')}{f' ({code})' if code else ''}.")
