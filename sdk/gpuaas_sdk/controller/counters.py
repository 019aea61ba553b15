"""Usage from counters that only grow, such as the tokens that a server has made since its start.

The difference between two readings is a use. A controller that crashes after it recorded a use and before it kept the new
position must not record it again with other bounds. So the bounds are kept first: a check keeps a window in the runtime of the
instance, and only the next check records it. Its key is made from the bounds, so a repetition adds nothing.

    async def health(self, snapshot):
        runtime = dict(snapshot.instance.runtime or {})
        counters = UsageCounters.read(runtime)
        counters.observe(Counter("tokens", "count", project_id, member.name), await read_tokens(member), datetime.now(UTC))
        return Health(usage=counters.usage, runtime=runtime | counters.document())

Before the app goes (`stop`, `teardown`), let it finish, read the counters a last time, and record what is left at once:
`await ctx.report_usage(counters.rest())`. A repeated attempt reads the same values, since nothing counts any more.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime

from gpuaas_sdk.generated.models import UsageReport

POSITION = "usage_counters"  # the key in the runtime


@dataclass(frozen=True, slots=True)
class Counter:
    """What is counted: a metric of the manifest's `metering`, for one project, from one source such as a member."""

    metric: str
    unit: str
    project_id: str
    source: str = ""

    @property
    def key(self) -> str:
        """Tells the counter from all others of the instance."""
        return "/".join((self.metric, self.unit, self.project_id, self.source))


@dataclass(frozen=True, slots=True)
class Window:
    """A use that is kept and not yet known to be recorded: the counter went from `start` to `end`."""

    start: int
    end: int
    since: datetime
    until: datetime


@dataclass(frozen=True, slots=True)
class Position:
    """How far a counter is kept, and the window before that."""

    value: int
    at: datetime
    window: Window | None = None


@dataclass
class UsageCounters:
    """The positions of all counters of an instance. `usage` is what to record now: windows that an earlier check kept."""

    positions: dict[str, Position] = field(default_factory=dict)
    usage: list[UsageReport] = field(default_factory=list)
    _counters: dict[str, Counter] = field(default_factory=dict)

    @classmethod
    def read(cls, runtime: Mapping[str, object] | None) -> "UsageCounters":
        """Read what the last check kept. The windows in it are due."""
        kept = (runtime or {}).get(POSITION)
        entries = kept if isinstance(kept, list) else []
        counters = cls()
        for entry in entries:
            counter, position = _read_entry(entry)
            counters._counters[counter.key] = counter
            counters.positions[counter.key] = Position(position.value, position.at)
            if position.window is not None:
                counters.usage.append(_report(counter, position.window))
        return counters

    def observe(self, counter: Counter, value: int, at: datetime) -> None:
        """Note a reading. The first one only sets the position; one below the position means that the source began anew."""
        before = self.positions.get(counter.key)
        self._counters[counter.key] = counter
        if before is None or at <= before.at:
            self.positions.setdefault(counter.key, Position(value, at))
            return
        start = before.value if value >= before.value else 0
        window = Window(start, value, before.at, at) if value > start else None
        self.positions[counter.key] = Position(value, at, window)

    def start_at_zero(self, counter: Counter, at: datetime) -> None:
        """Begin a counter whose source started with the instance, so that what it counts before the first check is not lost."""
        self._counters[counter.key] = counter
        self.positions.setdefault(counter.key, Position(0, at))

    def rest(self) -> list[UsageReport]:
        """Everything that is not known to be recorded, for the last report before the source is removed."""
        kept = [(self._counters[key], one.window) for key, one in self.positions.items()]
        return [*self.usage, *(_report(counter, window) for counter, window in kept if window is not None)]

    def document(self) -> dict[str, object]:
        """What to keep in the runtime, beside the app's own entries."""
        entries = [asdict(self._counters[key]) | _position(one) for key, one in sorted(self.positions.items())]
        return {POSITION: entries}


def _report(counter: Counter, window: Window) -> UsageReport:
    digest = hashlib.sha256(counter.key.encode()).hexdigest()[:16]  # a key has at most 200 characters, without spaces
    return UsageReport(
        source_key=f"{counter.metric}/{digest}/{window.since.isoformat()}/{window.start}-{window.end}",
        project_id=counter.project_id,
        metric=counter.metric,
        unit=counter.unit,
        quantity=window.end - window.start,
        started_at=window.since,
        ended_at=window.until,
        subject=counter.source or None,
    )


def _position(position: Position) -> dict[str, object]:
    window = position.window
    bounds = None if window is None else [window.start, window.end, window.since.isoformat(), window.until.isoformat()]
    return {"value": position.value, "at": position.at.isoformat(), "window": bounds}


def _read_entry(entry: Mapping[str, object]) -> tuple[Counter, Position]:
    """Read one entry as `document` wrote it: nobody else writes this key of the runtime."""
    counter = Counter(*(str(entry[name]) for name in ("metric", "unit", "project_id", "source")))
    bounds, window = entry["window"], None
    if isinstance(bounds, list):
        start, end, since, until = bounds
        window = Window(int(start), int(end), datetime.fromisoformat(since), datetime.fromisoformat(until))
    return counter, Position(int(str(entry["value"])), datetime.fromisoformat(str(entry["at"])), window)
