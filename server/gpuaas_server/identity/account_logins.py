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
from gpuaas_server.identity.certificate_rules import rules_of
from gpuaas_server.identity.networks import client_network, rate_source
from gpuaas_server.identity.principals import SERVICE_ACCOUNT
from gpuaas_server.identity.queries import certificates as certificate_queries
from gpuaas_server.identity.queries import service_accounts as queries
from gpuaas_server.identity.rates import Door
from gpuaas_server.identity.schemas import AccessToken, ClientCredentialsGrant
from gpuaas_server.identity.sign_in import ACTION, acting, issue_token, refuse
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.client_certificates import ShownCertificate

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


async def account_sign_in(
    platform: Platform, caller: Actor, grant: ClientCredentialsGrant, shown: ShownCertificate
) -> AccessToken:
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
    if key.row["deleting"]:
        raise await refuse(platform, known, "deletion_scheduled")
    bound_to = await _bind(platform, known, key, shown)
    async with platform.transaction(PLATFORM, known) as tx:
        await queries.key_used(tx.connection, key.row["key_id"], tx.now)
        details: dict[str, object] = {"key": key.row["key_id"]}
        if bound_to is not None:
            await certificate_queries.certificate_used(tx.connection, bound_to, tx.now)
            details["certificate_thumbprint"] = bound_to
        await record(tx, AuditEntry(ACTION, known.id, known.tenant_id, key.row["project_id"], details=details))
        claims = tokens.Claims(known.id, SERVICE_ACCOUNT, known.tenant_id, 0, 0.0, key.row["key_id"], bound_to)
        return await issue_token(platform, tx, claims, " ".join(sorted(key.row["scopes"])))


async def _bind(platform: Platform, known: Actor, key: _Key, shown: ShownCertificate) -> str | None:
    """The thumbprint that the token is bound to; a refusal is written down as other refused sign-ins are."""
    rules = rules_of(key.row["certificate_required"], key.row["certificates"])
    try:
        return rules.bind_token(shown, platform.clock())
    except Problem as problem:
        refused = await refuse(platform, known, problem.code)
        refused.detail = problem.detail
        raise refused from problem


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
