"""What all ways of signing in share: who acts from then on, the token, and the refusal with its row in the trail."""

from dataclasses import replace

from psycopg.rows import DictRow

from gpuaas_server.audit.service import record
from gpuaas_server.identity import signing_keys, tokens
from gpuaas_server.identity.lockouts import denied_entry
from gpuaas_server.identity.schemas import AccessToken
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem

ACTION = "auth_token"


def acting(caller: Actor, row: DictRow, kind: str) -> Actor:
    return replace(caller, id=row["id"], kind=kind, name=row["name"], tenant_id=row["tenant_id"] or "")


async def issue_token(platform: Platform, tx: Tx, claims: tokens.Claims, scope: str | None) -> AccessToken:
    seconds = platform.settings.token_minutes * 60
    key_id, key = await signing_keys.signing_key(platform, tx.connection)
    claims = replace(claims, expires=tx.now.timestamp() + seconds)
    return AccessToken(access_token=tokens.sign(key_id, key, claims, tx.now), expires_in=seconds, scope=scope)


async def refuse(platform: Platform, known: Actor, code: str, action: str = ACTION) -> Problem:
    metrics.auth_refusals.labels(code).inc()
    async with platform.transaction(PLATFORM, known) as tx:
        await record(tx, denied_entry(known, action, {"why": code}))
    return Problem(code)
