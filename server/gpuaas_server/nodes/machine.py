"""Decides what becomes of nodes that fall silent, of their maintenance windows, and of drains that are planned. Pure."""

from datetime import datetime, timedelta

from gpuaas_server.kernel.dataclass import dataclass

KIND = "node_liveness"
SUBJECT = "all"  # one row for the fleet: the cost of looking does not grow with idle work rows


@dataclass(frozen=True, slots=True)
class NodePulse:
    node_id: str
    last_seen_at: datetime
    lost_since: datetime | None


@dataclass(frozen=True, slots=True)
class FleetPulse:
    pulses: tuple[NodePulse, ...]
    listening_since: datetime | None


@dataclass(frozen=True, slots=True)
class LivenessVerdict:
    lost: tuple[str, ...] = ()
    back: tuple[str, ...] = ()


def decide_liveness(fleet: FleetPulse, now: datetime, silence_limit: timedelta) -> LivenessVerdict:
    """Decide who is lost and who is back. Silence counts only while somebody listened: a restart must not lose the fleet."""
    line = now - silence_limit
    back = tuple(p.node_id for p in fleet.pulses if p.lost_since is not None and p.last_seen_at >= line)
    if fleet.listening_since is None or fleet.listening_since > line:
        return LivenessVerdict(back=back)
    lost = tuple(p.node_id for p in fleet.pulses if p.lost_since is None and p.last_seen_at < line)
    return LivenessVerdict(lost, back)


@dataclass(frozen=True, slots=True)
class WindowStep:
    """The state that the window gets now, if it gets another, and when to look again."""

    state: str | None
    again_at: datetime | None


def decide_window(state: str, starts_at: datetime, ends_at: datetime, now: datetime) -> WindowStep:
    """Decide the window's next state. A window that nobody could start in its time ends without having started."""
    if now >= ends_at:
        return WindowStep("ended", None)
    if state == "planned" and now >= starts_at:
        return WindowStep("active", ends_at)
    return WindowStep(None, starts_at if state == "planned" else ends_at)


@dataclass(frozen=True, slots=True)
class DrainStep:
    """Tells whether the drain begins now, or when to look again."""

    begins: bool
    again_at: datetime | None = None


def decide_drain(drain_at: datetime, now: datetime) -> DrainStep:
    return DrainStep(True) if now >= drain_at else DrainStep(False, drain_at)
