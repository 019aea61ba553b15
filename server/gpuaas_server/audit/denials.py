"""Refusals become audit rows of their own: what was refused has rolled back, and the row must stay.

Whoever can be refused could fill the disk with rows, so each caller gets a few a minute for each action and reason;
the next row says how many were left out. Every process counts for itself, and remembers a bounded number of marks:
fewer of strangers, who may come from as many addresses as they like, than of callers who are signed in.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from gpuaas_server.audit.records import AuditEntry, record
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM

ROWS_A_MINUTE = 10
MOST_REMEMBERED = 2_000
MOST_OF_CALLERS = 20_000  # a hundred callers, each refused every action there is
_WINDOW = timedelta(minutes=1)

Mark = tuple[str, str, str]  # who (an actor's id, or an address), action, reason
_ALL_OTHERS: Mark = ("", "", "")


@dataclass(slots=True)
class _Count:
    since: datetime
    written: int = 0
    left_out: int = 0


class Throttle:
    """How many rows each mark may still write. Marks beyond the memory share one, so a flood of names gains nothing."""

    def __init__(self, rows_a_minute: int = ROWS_A_MINUTE, most: int = MOST_REMEMBERED) -> None:
        self._rows_a_minute = rows_a_minute
        self._most = most
        self._counts: OrderedDict[Mark, _Count] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def admit(self, mark: Mark, now: datetime) -> int | None:
        """How many were left out before this row; None when this one is left out too."""
        count = self._count(mark, now)
        if count.written >= self._rows_a_minute:
            count.left_out += 1
            return None
        count.written += 1
        left_out, count.left_out = count.left_out, 0
        return left_out

    def _count(self, mark: Mark, now: datetime) -> _Count:
        known = self._counts.get(mark)
        if known is None:
            self._forget_quiet(now)
            if len(self._counts) >= self._most:
                mark = _ALL_OTHERS
                known = self._counts.get(mark)
        if known is None:
            known = self._counts[mark] = _Count(now)
        elif now - known.since >= _WINDOW:
            known.since, known.written = now, 0
            self._counts.move_to_end(mark)
        return known

    def _forget_quiet(self, now: datetime) -> None:
        """The oldest first, and only what no longer limits anybody; what it left out is told by the shared mark's row."""
        lost = 0
        while len(self._counts) >= self._most:
            mark, oldest = next(iter(self._counts.items()))
            if now - oldest.since < _WINDOW:
                break
            lost += oldest.left_out
            del self._counts[mark]
        if lost:
            self._counts.setdefault(_ALL_OTHERS, _Count(now)).left_out += lost


class Denials:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._strangers = Throttle()
        self._callers = Throttle(most=MOST_OF_CALLERS)

    async def write(self, actor: Actor, entry: AuditEntry, why: str) -> None:
        """In a transaction of its own. A caller who is nobody yet is told apart by the address."""
        metrics.denials.labels(why).inc()
        stranger = actor.kind == "anonymous"
        mark = (actor.address if stranger else actor.id, entry.action, why)
        left_out = (self._strangers if stranger else self._callers).admit(mark, self._platform.clock())
        if left_out is None:
            return
        details = entry.details | {"why": why} | ({"left_out": left_out} if left_out else {})
        async with self._platform.transaction(PLATFORM, actor) as tx:
            await record(tx, replace(entry, outcome="denied", details=details))
