"""Lockouts after wrong passwords: of an account, in the network that the failures came from.

Failures from many networks add up as well: then networks that the account never signed in from wait longer and longer, and
an event reports it. Networks that it did sign in from are never slowed, so that nobody who knows a name can lock its owner
out. An unknown name is treated like a known one.
"""

import hashlib
from datetime import datetime, timedelta
from math import ceil

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity.networks import client_network, rate_source
from gpuaas_server.identity.principals import USER
from gpuaas_server.identity.queries import logins as queries
from gpuaas_server.identity.rates import RateLimit, count_and_refuse_over
from gpuaas_server.identity.rows import LoginAccount
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

REMEMBERED = timedelta(days=1)  # without a failure for so long, an account's count over all networks begins anew
MOST_NETWORKS = 20  # that one account is known in


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt to sign in as `username`; `account` is what the database says about that name in this network."""

    username: str
    digest: bytes
    address: str
    network: str
    account: LoginAccount

    @property
    def known(self) -> bool:
        """Return whether the account signed in from this network before."""
        return self.account.known

    @property
    def lock_networks(self) -> list[str]:
        """The networks whose locks count for this attempt."""
        return [self.network] if self.known else [self.network, queries.ANY_UNKNOWN]


def username_digest(email: str) -> bytes:
    return hashlib.sha256(email.encode()).digest()


async def read_attempt(platform: Platform, username: str, address: str) -> Attempt:
    email, network = username.lower(), client_network(address, platform.settings)
    digest = username_digest(email)
    since = platform.clock() - timedelta(days=platform.settings.login_known_days)
    async with platform.database.connection(PLATFORM) as connection:
        account = await queries.login_account(connection, email, digest, network, since)
    return Attempt(email, digest, address, network, account)


async def count_and_refuse(platform: Platform, attempt: Attempt) -> None:
    """Refuse attempts that come too often, and locked accounts. A known account in its network has a rate of its own: others
    behind the same address do not use it up.
    """
    settings = platform.settings
    source = rate_source(attempt.address, settings)
    if attempt.known:
        source = f"{attempt.digest.hex()} {attempt.network}"
    await count_and_refuse_over(platform, RateLimit("sign-in", settings.login_rate_per_minute), source)
    account = attempt.account
    locks = [account.locked_until, None if attempt.known else account.slowed_until]
    _refuse_until(max((lock for lock in locks if lock is not None), default=None), platform.clock())


async def refuse_locked(tx: Tx, attempt: Attempt) -> None:
    """Check the locks once more, with their rows locked: guesses sent at once get no further than in turn."""
    _refuse_until(await queries.lock_read(tx.connection, attempt.digest, attempt.lock_networks), tx.now)


def _refuse_until(until: datetime | None, now: datetime) -> None:
    if until is not None and until > now:
        metrics.auth_refusals.labels("account_locked").inc()
        seconds = ceil((until - now).total_seconds())
        raise Problem("account_locked", headers={"Retry-After": str(seconds)})


async def note_success(platform: Platform, tx: Tx, attempt: Attempt) -> None:
    """Remember the network as known. Failures in other networks go on counting."""
    before = tx.now - timedelta(days=platform.settings.login_known_days)
    await queries.network_failures_clear(tx.connection, attempt.digest, attempt.network)
    await queries.network_remember(tx.connection, attempt.digest, attempt.network, tx.now)
    await queries.networks_forget(tx.connection, attempt.digest, before, MOST_NETWORKS)


async def count_failure(platform: Platform, known: Actor, attempt: Attempt, action: str) -> Problem:
    settings = platform.settings
    metrics.auth_refusals.labels("bad_credentials").inc()
    lockout = timedelta(seconds=settings.lockout_seconds)
    async with platform.transaction(PLATFORM, known) as tx:
        state = await queries.failure_add(
            tx.connection, attempt.digest, attempt.network, tx.now, settings.login_attempts, lockout
        )
        locked = state.locked_until is not None
        if locked:
            metrics.sign_in_locks.labels("network").inc()
        if not attempt.known:
            await _count_over_networks(platform, tx, attempt)
        details: dict[str, object] = {"why": "bad_credentials", "locked": locked, "network": attempt.network}
        await record(tx, denied_entry(known, action, details))
        await queries.failures_forget(tx.connection, tx.now - max(lockout, REMEMBERED))
    return Problem("bad_credentials")


async def _count_over_networks(platform: Platform, tx: Tx, attempt: Attempt) -> None:
    """Count the failure over all networks. The one that reaches the limit is reported, once; later ones make unknown networks
    wait longer.
    """
    settings, limit = platform.settings, platform.settings.login_account_attempts
    failures = await queries.account_failure_add(
        tx.connection, attempt.digest, tx.now, tx.now - REMEMBERED, limit, settings.login_delay_seconds
    )
    if failures >= limit:
        metrics.sign_in_locks.labels("account").inc()
    if failures == limit and tx.actor.kind == USER:
        user, details = tx.actor, {"failures": failures, "last_network": attempt.network}
        await record(tx, AuditEntry("password_guessing", user.id, user.tenant_id or None, details=dict(details)))
        await emit(tx, NewEvent("user.password_guessing", user.id, user.tenant_id or None, data=dict(details)))


def denied_entry(known: Actor, action: str, details: dict[str, object]) -> AuditEntry:
    resource = None if known.kind == "anonymous" else known.id
    return AuditEntry(action, resource, known.tenant_id or None, outcome="denied", details=details)
