"""Limits how fast one tenant may change things, and send bytes, at one api process.

Lanes and turns keep a tenant's work from holding up another's, but each change costs every part of the platform something:
without a bound on their rate, one tenant's programs would fill the processors and the disk that all share. A tenant that is
ahead of its pace waits; a change that would have to wait for long is refused.
"""

import asyncio
import time
from collections.abc import Callable
from math import ceil, inf

from prometheus_client import Counter

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

LONGEST_WAIT = 5.0
MOST_TENANTS = 10_000  # that are remembered before those at rest are forgotten


class TenantPace:
    """Admits `per_second` units on average, and up to `burst` at once after a rest.

    It keeps one time for each tenant: when all that was admitted so far would be over at that pace.
    """

    def __init__(
        self,
        per_second: float,
        burst: float,
        clock: Callable[[], float] = time.monotonic,
        longest_wait: float = LONGEST_WAIT,
        outcomes: Counter | None = None,
    ) -> None:
        self._seconds_each = 1 / per_second
        self._ahead = burst * self._seconds_each
        self._clock = clock
        self._longest_wait = longest_wait
        self._outcomes = outcomes
        self._over_at: dict[str, float] = {}

    async def wait_turn(self, tenant_id: str, units: int = 1) -> None:
        """Return when it is the tenant's turn; `rate_limited` when that would take long."""
        seconds = self.reserve(tenant_id, units)
        if seconds > 0:
            self._note("waited")
            await asyncio.sleep(seconds)

    def reserve(self, tenant_id: str, units: int = 1) -> float:
        """Count the units, and return the seconds that they have to wait."""
        now = self._clock()
        over_at = self._over(tenant_id, now) + units * self._seconds_each
        wait = over_at - now - self._ahead
        if wait > self._longest_wait:
            self._note("refused")
            raise Problem("rate_limited", headers={"Retry-After": str(ceil(wait - self._longest_wait))})
        self._keep(tenant_id, over_at, now)
        return max(0.0, wait)

    def count(self, tenant_id: str, units: int) -> None:
        """Count units that are let through already: what the tenant does next waits for them. Below zero takes them back."""
        now = self._clock()
        self._keep(tenant_id, self._over(tenant_id, now) + units * self._seconds_each, now)

    def _note(self, outcome: str) -> None:
        if self._outcomes is not None:
            self._outcomes.labels(outcome).inc()

    def _over(self, tenant_id: str, now: float) -> float:
        return max(now, self._over_at.get(tenant_id, now))

    def _keep(self, tenant_id: str, over_at: float, now: float) -> None:
        if len(self._over_at) >= MOST_TENANTS:
            self._over_at = {name: at for name, at in self._over_at.items() if at > now}
        self._over_at[tenant_id] = over_at


class TenantPaces:
    """The paces of one api process. Bytes are never refused: their sender is slowed down."""

    def __init__(self, settings: Settings) -> None:
        self.changes = TenantPace(
            settings.tenant_changes_per_second, settings.tenant_change_burst, outcomes=metrics.changes_paced
        )
        speed = settings.tenant_upload_bytes_per_second
        self.upload_bytes = TenantPace(speed, speed, longest_wait=inf)
