"""Denied calls get audit rows of their own: the denied transaction has rolled back, and the row must stay.

A caller who is denied again and again could fill the disk, so each caller gets a few rows a minute for each action and
reason; the next row says how many were left out. Every process counts for itself and remembers a bounded number of
callers: fewer unauthenticated ones, who may use any number of addresses, than signed-in ones.
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

ThrottleKey = tuple[str, str, str]  # who (an actor's id, or an address), action, reason
_ALL_OTHERS: ThrottleKey = ("", "", "")


@dataclass(slots=True)
class _Count:
    """The rows of one key in the present minute."""

    since: datetime
    written: int = 0
    left_out: int = 0


class Throttle:
    """Counts how many rows each key may still write. Keys beyond the limit share one, so a flood of keys gains nothing."""

    def __init__(self, rows_a_minute: int = ROWS_A_MINUTE, most: int = MOST_REMEMBERED) -> None:
        self._rows_a_minute = rows_a_minute
        self._most = most
        self._counts: OrderedDict[ThrottleKey, _Count] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counts)

    def admit(self, key: ThrottleKey, now: datetime) -> int | None:
        """Return the number of rows left out before this one; None when this one is left out too."""
        count = self._count(key, now)
        if count.written >= self._rows_a_minute:
            count.left_out += 1
            return None
        count.written += 1
        left_out, count.left_out = count.left_out, 0
        return left_out

    def _count(self, key: ThrottleKey, now: datetime) -> _Count:
        known = self._counts.get(key)
        if known is None:
            self._forget_quiet(now)
            if len(self._counts) >= self._most:
                key = _ALL_OTHERS
                known = self._counts.get(key)
        if known is None:
            known = self._counts[key] = _Count(now)
        elif now - known.since >= _WINDOW:
            known.since, known.written = now, 0
            self._counts.move_to_end(key)
        return known

    def _forget_quiet(self, now: datetime) -> None:
        """Forget the oldest counts that no longer limit anybody. The shared key's next row says what they left out."""
        lost = 0
        while len(self._counts) >= self._most:
            key, oldest = next(iter(self._counts.items()))
            if now - oldest.since < _WINDOW:
                break
            lost += oldest.left_out
            del self._counts[key]
        if lost:
            self._counts.setdefault(_ALL_OTHERS, _Count(now)).left_out += lost


class Denials:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._unauthenticated = Throttle()
        self._callers = Throttle(most=MOST_OF_CALLERS)

    async def write(self, actor: Actor, entry: AuditEntry, why: str) -> None:
        """Write the denial in a transaction of its own. Unauthenticated callers are told apart by their address."""
        metrics.denials.labels(why).inc()
        unauthenticated = actor.kind == "anonymous"
        key = (actor.address if unauthenticated else actor.id, entry.action, why)
        left_out = (self._unauthenticated if unauthenticated else self._callers).admit(key, self._platform.clock())
        if left_out is None:
            return
        details = entry.details | {"why": why} | ({"left_out": left_out} if left_out else {})
        async with self._platform.transaction(PLATFORM, actor) as tx:
            await record(tx, replace(entry, outcome="denied", details=details))
