"""SQL of sign-ins by password: failures and lockouts per account and network, and the networks an account is known in."""

from datetime import datetime, timedelta

from gpuaas_server.identity.rows import FailureCount, LoginAccount, LoginUser
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.rows import columns_of, fetch_one, fetch_value, fetch_values

# The row of all networks that an account is not known in. It sorts before every network: locks are taken from the end.
ANY_UNKNOWN = "*"


@dataclass(frozen=True, slots=True)
class _LoginRow(LoginUser):
    """A user with the locks on a name. All columns of the user are NULL when there is none."""

    locked_until: datetime | None
    slowed_until: datetime | None
    known: bool

    def account(self) -> LoginAccount:
        user = LoginUser(
            self.id, self.name, self.tenant_id, self.password_hash, self.disabled, self.auth_epoch, self.deleting
        )
        return LoginAccount(user if user.id else None, self.locked_until, self.slowed_until, self.known)


async def login_account(
    connection: Connection, email: str, digest: bytes, network: str, since: datetime
) -> LoginAccount:
    """Return the user, if there is one; the locks on that name, if there are any; whether it is known in this network."""
    row = await fetch_one(
        connection,
        _LoginRow,
        "SELECT u.id, u.name, u.tenant_id, u.password_hash, u.disabled, u.auth_epoch,"
        " EXISTS (SELECT 1 FROM tenants t WHERE t.id = u.tenant_id AND t.delete_after IS NOT NULL) AS deleting,"
        " f.locked_until, a.locked_until AS slowed_until, k.network IS NOT NULL AS known"
        " FROM (SELECT 1) one LEFT JOIN users u ON u.email = %(email)s"
        " LEFT JOIN login_failures f ON f.username_digest = %(digest)s AND f.network = %(network)s"
        " LEFT JOIN login_failures a ON a.username_digest = %(digest)s AND a.network = %(any)s"
        " LEFT JOIN login_networks k ON k.username_digest = %(digest)s AND k.network = %(network)s"
        "  AND k.last_sign_in_at > %(since)s",
        {"email": email, "digest": digest, "network": network, "any": ANY_UNKNOWN, "since": since},
    )
    return row.account()


async def failure_add(
    connection: Connection, digest: bytes, network: str, now: datetime, attempts: int, lockout: timedelta
) -> FailureCount:
    """Count a failure; the one that reaches the limit locks. Those older than a lockout are forgotten."""
    return await fetch_one(
        connection,
        FailureCount,
        "INSERT INTO login_failures AS f (username_digest, network, failures, last_failure_at, locked_until)"
        " VALUES (%(digest)s, %(network)s, 1, %(now)s, CASE WHEN %(attempts)s <= 1 THEN %(until)s::timestamptz END)"
        " ON CONFLICT (username_digest, network) DO UPDATE SET last_failure_at = %(now)s,"
        " failures = CASE WHEN f.last_failure_at < %(old)s THEN 1 ELSE f.failures + 1 END,"
        " locked_until = CASE WHEN f.locked_until > %(now)s THEN f.locked_until"
        "  WHEN (CASE WHEN f.last_failure_at < %(old)s THEN 1 ELSE f.failures + 1 END) >= %(attempts)s"
        "  THEN %(until)s::timestamptz END"
        f" RETURNING {columns_of(FailureCount)}",
        {
            "digest": digest,
            "network": network,
            "now": now,
            "attempts": attempts,
            "until": now + lockout,
            "old": now - lockout,
        },
    )


async def account_failure_add(
    connection: Connection, digest: bytes, now: datetime, forget_before: datetime, attempts: int, longest: int
) -> int:
    """Count a failure from a network that the account is not known in. From `attempts` on each makes all of these wait:
    a second, two, four, up to the longest. The answer is how many there are now.
    """
    failures = await fetch_value(
        connection,
        int,
        "INSERT INTO login_failures AS f (username_digest, network, failures, last_failure_at, locked_until)"
        " VALUES (%(digest)s, %(any)s, 1, %(now)s, CASE WHEN %(attempts)s <= 1 THEN %(now)s + interval '1 second' END)"
        " ON CONFLICT (username_digest, network) DO UPDATE SET last_failure_at = %(now)s,"
        " failures = CASE WHEN f.last_failure_at < %(old)s THEN 1 ELSE f.failures + 1 END,"
        " locked_until = CASE WHEN f.last_failure_at >= %(old)s AND f.failures + 1 >= %(attempts)s THEN %(now)s"
        "  + make_interval(secs => LEAST(%(longest)s, power(2, LEAST(f.failures + 1 - %(attempts)s, 20)))) END"
        " RETURNING failures",
        {
            "digest": digest,
            "any": ANY_UNKNOWN,
            "now": now,
            "old": forget_before,
            "attempts": attempts,
            "longest": longest,
        },
    )
    return failures or 0


async def lock_read(connection: Connection, digest: bytes, networks: list[str]) -> datetime | None:
    """Return until when the name is locked there. The rows are locked, so that failures being counted now are seen."""
    ends = await fetch_values(
        connection,
        datetime,
        "SELECT locked_until FROM login_failures WHERE username_digest = %s AND network = ANY(%s)"
        " ORDER BY network DESC FOR UPDATE",
        (digest, networks),
    )
    return max((end for end in ends if end is not None), default=None)


async def network_failures_clear(connection: Connection, digest: bytes, network: str) -> None:
    await connection.execute(
        "DELETE FROM login_failures WHERE username_digest = %s AND network = %s", (digest, network)
    )


async def failures_clear(connection: Connection, digest: bytes) -> None:
    """Delete the failures in every network: an administrator unlocked the account."""
    await connection.execute("DELETE FROM login_failures WHERE username_digest = %s", (digest,))


async def failures_forget(connection: Connection, before: datetime) -> None:
    """Delete old failures. The table is keyed by what anybody typed, so every failure sweeps it."""
    await connection.execute(
        "DELETE FROM login_failures WHERE last_failure_at < %s AND (locked_until IS NULL OR locked_until < %s)",
        (before, before),
    )


async def network_remember(connection: Connection, digest: bytes, network: str, now: datetime) -> None:
    await connection.execute(
        "INSERT INTO login_networks (username_digest, network, last_sign_in_at) VALUES (%s, %s, %s)"
        " ON CONFLICT (username_digest, network) DO UPDATE SET last_sign_in_at = EXCLUDED.last_sign_in_at",
        (digest, network, now),
    )


async def networks_forget(connection: Connection, digest: bytes, before: datetime, most: int) -> None:
    """Delete networks that the account has not signed in from for long, and the oldest beyond `most`."""
    await connection.execute(
        "DELETE FROM login_networks WHERE username_digest = %(digest)s AND (last_sign_in_at < %(before)s OR network IN"
        " (SELECT network FROM login_networks WHERE username_digest = %(digest)s"
        "  ORDER BY last_sign_in_at DESC OFFSET %(most)s))",
        {"digest": digest, "before": before, "most": most},
    )


async def networks_clear(connection: Connection, digest: bytes) -> None:
    await connection.execute("DELETE FROM login_networks WHERE username_digest = %s", (digest,))
