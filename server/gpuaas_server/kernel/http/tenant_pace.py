"""How fast one tenant may change things at one api process.

Lanes and turns keep a tenant's work from holding up another's, but each change costs every part of the platform something:
without a bound on their rate, one tenant's programs would fill the processors that all share. Who is ahead of the pace
waits; who would have to wait for long is refused.
"""

import asyncio
import time
from collections.abc import Callable
from math import ceil

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.errors import Problem

LONGEST_WAIT = 5.0
MOST_TENANTS = 10_000  # that are remembered before those at rest are forgotten


class TenantPace:
    """`per_second` on average, and up to `burst` at once after a rest.

    For each tenant one time is kept: when all that was admitted so far would be over at that pace.
    """

    def __init__(self, per_second: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds_each = 1 / per_second
        self._ahead = burst * self._seconds_each
        self._clock = clock
        self._over_at: dict[str, float] = {}

    async def wait_turn(self, tenant_id: str) -> None:
        """Return when it is the tenant's turn; `rate_limited` when that would take long."""
        seconds = self.reserve(tenant_id)
        if seconds > 0:
            metrics.changes_paced.labels("waited").inc()
            await asyncio.sleep(seconds)

    def reserve(self, tenant_id: str) -> float:
        """Count one change; the seconds that it has to wait."""
        now = self._clock()
        over_at = max(now, self._over_at.get(tenant_id, now)) + self._seconds_each
        wait = over_at - now - self._ahead
        if wait > LONGEST_WAIT:
            metrics.changes_paced.labels("refused").inc()
            raise Problem("rate_limited", headers={"Retry-After": str(ceil(wait - LONGEST_WAIT))})
        if len(self._over_at) >= MOST_TENANTS:
            self._over_at = {name: at for name, at in self._over_at.items() if at > now}
        self._over_at[tenant_id] = over_at
        return max(0.0, wait)
