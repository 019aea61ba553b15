"""Does what all kinds of sign-in share: the actor, the token, and the refusal with its audit row."""

from dataclasses import replace

from gpuaas_server.audit.service import record
from gpuaas_server.identity import signing_keys, tokens
from gpuaas_server.identity.lockouts import denied_entry
from gpuaas_server.identity.rows import AccountIdentity
from gpuaas_server.identity.schemas import AccessToken
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem

ACTION = "auth_token"


def signed_in_actor(caller: Actor, account: AccountIdentity, kind: str) -> Actor:
    return replace(caller, id=account.id, kind=kind, name=account.name, tenant_id=account.tenant_id or "")


async def issue_token(platform: Platform, tx: Tx, claims: tokens.Claims, scope: str | None) -> AccessToken:
    seconds = platform.settings.token_minutes * 60
    key_id, key = await signing_keys.signing_key(platform, tx.connection)
    claims = replace(claims, expires=tx.now.timestamp() + seconds)
    return AccessToken(
        access_token=tokens.sign(key_id, key, claims, tx.now),
        expires_in=seconds,
        scope=scope,
        certificate_thumbprint=claims.certificate,
    )


async def refuse(platform: Platform, known: Actor, code: str, action: str = ACTION) -> Problem:
    metrics.auth_refusals.labels(code).inc()
    async with platform.transaction(PLATFORM, known) as tx:
        await record(tx, denied_entry(known, action, {"why": code}))
    return Problem(code)
