"""A tenant's trust: whether launches need a signature, and by whose keys."""

from gpuaas_server.artifacts import queries
from gpuaas_server.artifacts.hooks import artifact_hooks
from gpuaas_server.artifacts.machine import CHECK_LIMIT
from gpuaas_server.artifacts.rows import TrustKeyRow
from gpuaas_server.artifacts.schemas import TrustKey, TrustKeyCreate, TrustPolicy, TrustPolicySet
from gpuaas_server.artifacts.service import CHECK
from gpuaas_server.artifacts.signatures import read_key
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import RequireMatch, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.work import leases

MAX_KEYS = 50


async def trust_policy_show(connection: Connection, tenant_id: str) -> TrustPolicy:
    row = await queries.policy_show(connection, tenant_id)
    if row is None:
        return TrustPolicy(
            tenant_id=tenant_id,
            require_signature=False,
            require_smoke_launch=False,
            updated_by=None,
            updated_at=None,
            generation=0,
        )
    return TrustPolicy(**fields_of(row))


async def trust_policy_set(tx: Tx, tenant_id: str, body: TrustPolicySet, require_match: RequireMatch) -> TrustPolicy:
    before = await trust_policy_show(tx.connection, tenant_id)
    require_match(before.generation)
    smoke = before.require_smoke_launch if body.require_smoke_launch is None else body.require_smoke_launch
    row = await queries.policy_set(tx.connection, tenant_id, body.require_signature, smoke, tx.actor.id, tx.now)
    await artifact_hooks().tenant_trust_changed(tx, tenant_id)
    details: dict[str, object] = {
        "before": {
            "require_signature": before.require_signature,
            "require_smoke_launch": before.require_smoke_launch,
        },
        "after": {"require_signature": row.require_signature, "require_smoke_launch": row.require_smoke_launch},
    }
    await audit.record(tx, AuditEntry("trust_policy_set", tenant_id, tenant_id, reason=body.reason, details=details))
    return TrustPolicy(**fields_of(row))


async def trust_key_list(connection: Connection, tenant_id: str, page: PageRequest) -> Page[TrustKey]:
    rows = await queries.key_list(connection, tenant_id, page)
    return Page[TrustKey].of([TrustKey(**fields_of(row)) for row in rows], page)


async def trust_key_create(tx: Tx, tenant_id: str, body: TrustKeyCreate) -> TrustKey:
    key = read_key(body.public_key)
    if len(await queries.tenant_keys(tx.connection, tenant_id)) >= MAX_KEYS:
        raise Problem("conflict", f"A tenant has at most {MAX_KEYS} trust keys.")
    row = TrustKeyRow(
        id=new_id("tky"),
        tenant_id=tenant_id,
        name=body.name,
        public_key=key.pem,
        fingerprint=key.fingerprint,
        algorithm=key.algorithm,
        created_by=tx.actor.id,
        created_at=tx.now,
    )
    if not await queries.key_insert(tx.connection, row):
        raise Problem("already_exists", "The tenant has this key, or has revoked it.")
    await artifact_hooks().tenant_trust_changed(tx, tenant_id)
    details: dict[str, object] = {"fingerprint": key.fingerprint, "algorithm": key.algorithm, "name": body.name}
    await audit.record(tx, AuditEntry("trust_key_create", row.id, tenant_id, details=details))
    return TrustKey(**fields_of(row))


async def trust_key_revoke(tx: Tx, tenant_id: str, key_id: str, reason: str) -> TrustKey:
    """Revoke the key. What it signed is checked again at once; artifacts that no other key signed lose their trust."""
    row = await queries.key_lock(tx.connection, tenant_id, key_id)
    if row is None:
        raise not_found("trust key", key_id)
    if row.revoked_at is not None:
        raise Problem("conflict", "The key is revoked already.")
    after = await queries.key_revoke(tx.connection, key_id, reason, tx.now)
    signed = await queries.artifacts_signed_by(tx.connection, tenant_id, row.fingerprint)
    if signed:
        await queries.artifacts_request_check(tx.connection, signed, tx.now + CHECK_LIMIT)
        await leases.enqueue(tx, CHECK, signed)
    await artifact_hooks().tenant_trust_changed(tx, tenant_id)
    details: dict[str, object] = {"fingerprint": row.fingerprint, "artifacts": len(signed)}
    await audit.record(tx, AuditEntry("trust_key_revoke", key_id, tenant_id, reason=reason, details=details))
    return TrustKey(**fields_of(after))
