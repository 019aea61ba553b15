"""Service accounts sign in by the secret of a key. Each account has limits of its own in each network.

Guessing 256 bits is hopeless, so a right secret is never refused for the sake of wrong ones: these only run into a
limit of their own, and programs behind one address do not starve each other.
"""

import hashlib
import hmac
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import DictRow

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import rates, tokens
from gpuaas_server.identity.networks import client_network, rate_source
from gpuaas_server.identity.principals import SERVICE_ACCOUNT
from gpuaas_server.identity.queries import service_accounts as queries
from gpuaas_server.identity.rates import Door
from gpuaas_server.identity.schemas import AccessToken, ClientCredentialsGrant
from gpuaas_server.identity.sign_in import ACTION, acting, issue_token, refuse
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem

_NO_DIGEST = bytes(32)


def secret_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


@dataclass(frozen=True, slots=True)
class _Key:
    """The key that a client secret turned out to be."""

    row: DictRow

    def expired(self, now: datetime) -> bool:
        expires_at: datetime | None = self.row["expires_at"]
        return expires_at is not None and expires_at <= now


async def account_sign_in(platform: Platform, caller: Actor, grant: ClientCredentialsGrant) -> AccessToken:
    now = platform.clock()
    async with platform.database.connection(PLATFORM) as connection:
        rows = await queries.sign_in_keys(connection, grant.client_id, now)
    here = f"{grant.client_id} {client_network(caller.address, platform.settings)}"
    key = _matching_key(rows, secret_digest(grant.client_secret))
    if key is None:
        raise await _refuse_secret(platform, caller, here if rows else None)
    await rates.count_and_refuse_over(platform, Door("service", platform.settings.service_rate_per_minute), here)
    known = acting(caller, {**key.row, "id": grant.client_id}, SERVICE_ACCOUNT)
    if key.row["disabled"] or key.expired(now):
        raise await refuse(platform, known, "account_disabled")
    async with platform.transaction(PLATFORM, known) as tx:
        await queries.key_used(tx.connection, key.row["key_id"], tx.now)
        entry = AuditEntry(ACTION, known.id, known.tenant_id, key.row["project_id"], details={"key": key.row["key_id"]})
        await record(tx, entry)
        claims = tokens.Claims(known.id, SERVICE_ACCOUNT, known.tenant_id, 0, 0.0, key.row["key_id"])
        return await issue_token(platform, tx, claims, " ".join(sorted(key.row["scopes"])))


async def _refuse_secret(platform: Platform, caller: Actor, account_here: str | None) -> Problem:
    """Wrong secrets count for their account in its network; those for no account at all, for the address."""
    source = account_here or rate_source(caller.address, platform.settings)
    await rates.count_and_refuse_over(
        platform, Door("service-refused", platform.settings.login_rate_per_minute), source
    )
    return await refuse(platform, caller, "bad_credentials")


def _matching_key(rows: list[DictRow], digest: bytes) -> _Key | None:
    """Every key is compared, whichever matches, and one is compared when there is none."""
    found = None
    for row in rows or [{"digest": _NO_DIGEST}]:
        if hmac.compare_digest(bytes(row["digest"]), digest) and "key_id" in row:
            found = _Key(row)
    return found
