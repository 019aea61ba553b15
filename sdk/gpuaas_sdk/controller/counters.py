"""Usage from counters that only grow, such as the tokens that a server has made since its start.

The difference between two readings is a use. A controller that crashes after it recorded a use and before it kept the new
position must not record it again with other bounds. So the bounds are kept first: a check keeps a window in the runtime of the
instance, and only the next check records it. Its key is made from the bounds, so a repetition adds nothing.

    async def health(self, snapshot):
        runtime = dict(snapshot.instance.runtime or {})
        counters = UsageCounters.read(runtime)
        counters.observe(Counter("tokens", "count", project_id, member.name), await read_tokens(member), datetime.now(UTC))
        return Health(usage=counters.usage, runtime=runtime | counters.document())

Before the app goes (`stop`, `decommission`), let it finish, read the counters a last time, and record what is left at once:
`await ctx.record_counters(read)`, whose `read(runtime)` returns the counters with their last readings. It keeps the position
even if the operation fails afterwards.
"""

import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gpuaas_sdk.generated.models import UsageReport

POSITION = "usage_counters"  # the key in the runtime
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Counter:
    """Names what is counted: a metric of the manifest's `metering`, for one project, from one source such as a member."""

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
    """The value up to which a counter is recorded, its time, and the last window before it."""

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
        counters = cls()
        for metric, unit, project_id, entries in kept if isinstance(kept, list) else ():
            for source, *written in entries:
                counter, position = Counter(metric, unit, project_id, source), _read(written)
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
        """Return everything that is not known to be recorded, for the last report before the source is removed."""
        kept = [(self._counters[key], one.window) for key, one in self.positions.items()]
        return [*self.usage, *(_report(counter, window) for counter, window in kept if window is not None)]

    def keep_sources(self, sources: Collection[str]) -> None:
        """Forget the positions of all other sources, such as members that were removed. Their windows are still due."""
        gone = [key for key, counter in self._counters.items() if counter.source not in sources]
        for key in gone:
            if self.positions[key].window is None:
                del self.positions[key], self._counters[key]

    def document(self) -> dict[str, object]:
        """Return what to keep in the runtime, beside the app's own entries. It is short: a runtime has room for 64 KiB."""
        groups: dict[tuple[str, str, str], list[object]] = {}
        for key, position in sorted(self.positions.items()):
            counter = self._counters[key]
            group = groups.setdefault((counter.metric, counter.unit, counter.project_id), [])
            group.append([counter.source, *_written(position)])
        return {POSITION: [[*names, entries] for names, entries in groups.items()]}


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


def _written(position: Position) -> list[object]:
    """Return a position in its short form: a window ends where the position is."""
    window = position.window
    bounds: list[object] = [] if window is None else [window.start, _microseconds(window.since)]
    return [position.value, _microseconds(position.at), *bounds]


def _read(written: list[int]) -> Position:
    """Read a position as `document` wrote it: nobody else writes this key of the runtime."""
    value, at = written[0], _moment(written[1])
    return Position(value, at, Window(written[2], value, _moment(written[3]), at) if len(written) > 2 else None)


def _microseconds(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _moment(microseconds: int) -> datetime:
    return _EPOCH + timedelta(microseconds=microseconds)
