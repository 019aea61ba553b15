"""Limits how many attempts a minute are allowed, counted in the database: the limit holds across replicas.

The caller chooses what counts together: an address, an account in a network, a session.
"""

from datetime import datetime, timedelta
from math import ceil

from gpuaas_server.identity.queries import rates as queries
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

_REMEMBERED = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """Attempts that are allowed in a minute. Each limit counts for itself: reaching one does not use up another."""

    name: str
    per_minute: int


async def refuse_over(platform: Platform, limit: RateLimit, source: str) -> None:
    """Raise `rate_limited` when the source has used up its attempts of this minute."""
    async with platform.database.connection(PLATFORM) as connection:
        attempts = await queries.rate_read(connection, _key(limit, source), _start_of_minute(platform))
    _refuse(platform, limit, attempts)


async def count_attempt(platform: Platform, limit: RateLimit, source: str) -> None:
    await _add(platform, limit, source)


async def count_and_refuse_over(platform: Platform, limit: RateLimit, source: str) -> None:
    """Count every attempt, not the failed ones alone, and refuse those over the limit."""
    _refuse(platform, limit, await _add(platform, limit, source))


async def _add(platform: Platform, limit: RateLimit, source: str) -> int:
    minute = _start_of_minute(platform)
    async with platform.database.connection(PLATFORM) as connection:
        attempts = await queries.rate_add(connection, _key(limit, source), minute, 1)
        if attempts == 1:  # the first of its minute sweeps, so that the table stays small
            await queries.rate_forget(connection, minute - _REMEMBERED)
    return attempts


def _refuse(platform: Platform, limit: RateLimit, attempts: int) -> None:
    if attempts <= limit.per_minute:
        return
    metrics.auth_refusals.labels("rate_limited").inc()
    left = _start_of_minute(platform) + timedelta(minutes=1) - platform.clock()
    raise Problem("rate_limited", headers={"Retry-After": str(max(1, ceil(left.total_seconds())))})


def _start_of_minute(platform: Platform) -> datetime:
    return platform.clock().replace(second=0, microsecond=0)


def _key(limit: RateLimit, source: str) -> str:
    """Return the key under which attempts are counted. A limit's name has no blank, so every key is unique."""
    return f"{limit.name} {source}"
