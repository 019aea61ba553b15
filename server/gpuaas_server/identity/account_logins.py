"""Service accounts sign in by the secret of a key. Each account has rate limits of its own in each network.

Guessing 256 bits is hopeless, so a right secret is never refused because of wrong ones: these have a limit of their own,
and programs behind one address do not starve each other.
"""

import hashlib
import hmac

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity import rates, tokens
from gpuaas_server.identity.certificate_rules import rules_of
from gpuaas_server.identity.networks import client_network, rate_source
from gpuaas_server.identity.principals import SERVICE_ACCOUNT
from gpuaas_server.identity.queries import certificates as certificate_queries
from gpuaas_server.identity.queries import service_accounts as queries
from gpuaas_server.identity.rates import RateLimit
from gpuaas_server.identity.rows import SignInKey
from gpuaas_server.identity.schemas import AccessToken, ClientCredentialsGrant
from gpuaas_server.identity.sign_in import ACTION, issue_token, refuse, signed_in_actor
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.client_certificates import ShownCertificate

_NO_DIGEST = bytes(32)


def secret_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


async def account_sign_in(
    platform: Platform, caller: Actor, grant: ClientCredentialsGrant, shown: ShownCertificate
) -> AccessToken:
    now = platform.clock()
    async with platform.database.connection(PLATFORM) as connection:
        keys = await queries.sign_in_keys(connection, grant.client_id, now)
    here = f"{grant.client_id} {client_network(caller.address, platform.settings)}"
    key = _matching_key(keys, secret_digest(grant.client_secret))
    if key is None:
        raise await _refuse_secret(platform, caller, here if keys else None)
    await rates.count_and_refuse_over(platform, RateLimit("service", platform.settings.service_rate_per_minute), here)
    known = signed_in_actor(caller, key, SERVICE_ACCOUNT)
    if key.disabled or key.has_expired(now):
        raise await refuse(platform, known, "account_disabled")
    if key.deleting:
        raise await refuse(platform, known, "deletion_scheduled")
    bound_to = await _bind(platform, known, key, shown)
    async with platform.transaction(PLATFORM, known) as tx:
        await queries.key_used(tx.connection, key.key_id, tx.now)
        details: dict[str, object] = {"key": key.key_id}
        if bound_to is not None:
            await certificate_queries.certificate_used(tx.connection, bound_to, tx.now)
            details["certificate_thumbprint"] = bound_to
        await record(tx, AuditEntry(ACTION, known.id, known.tenant_id, key.project_id, details=details))
        claims = tokens.Claims(known.id, SERVICE_ACCOUNT, known.tenant_id, 0, 0.0, key.key_id, bound_to)
        return await issue_token(platform, tx, claims, " ".join(sorted(key.scopes)))


async def _bind(platform: Platform, known: Actor, key: SignInKey, shown: ShownCertificate) -> str | None:
    """Return the thumbprint that the token is bound to. A refusal is recorded like other refused sign-ins."""
    rules = rules_of(key.certificate_required, key.certificates)
    try:
        return rules.bind_token(shown, platform.clock())
    except Problem as problem:
        refused = await refuse(platform, known, problem.code)
        refused.detail = problem.detail
        raise refused from problem


async def _refuse_secret(platform: Platform, caller: Actor, account_here: str | None) -> Problem:
    """Count a wrong secret: for its account in its network, or for the address when there is no such account."""
    source = account_here or rate_source(caller.address, platform.settings)
    await rates.count_and_refuse_over(
        platform, RateLimit("service-refused", platform.settings.login_rate_per_minute), source
    )
    return await refuse(platform, caller, "bad_credentials")


def _matching_key(keys: list[SignInKey], digest: bytes) -> SignInKey | None:
    """Return the key of this secret. Every key is compared, whichever matches; without keys one comparison is made, too."""
    found = None
    for key in keys:
        if hmac.compare_digest(key.digest, digest):
            found = key
    if not keys:
        hmac.compare_digest(_NO_DIGEST, digest)
    return found
