"""Credentials of a project: a name under which certificates are given out, or a key pair whose private side is in custody.

The private key is made here, sealed at once, and opened only to be sealed to a recipient. It is in no row, answer or log.
"""

from dataclasses import replace
from datetime import timedelta

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_server.access import credential_queries as queries
from gpuaas_server.access import queries as access_queries
from gpuaas_server.access.credential_schemas import AccessCredential, AccessCredentialCreate
from gpuaas_server.access.rows import CredentialRow, GrantRow
from gpuaas_server.allocations import service as allocations
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.pki.service import SshPublicKey, read_public_key
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import PreparedSecret

PURPOSE = "access_credential"
_VERBS = {
    "ssh_certificate": ("access_credential_deliver", "access_credential_revoke"),
    "ssh_key": ("access_credential_deliver", "access_credential_rotate", "access_credential_revoke"),
}


def new_key_pair() -> tuple[bytes, SshPublicKey]:
    """Make a key pair: the private side as an OpenSSH file, and the public one."""
    private = Ed25519PrivateKey.generate()
    clear = private.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    )
    public = private.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return clear, read_public_key(public.decode())


async def access_credential_create(
    tx: Tx,
    body: AccessCredentialCreate,
    caller: Caller,
    custody: tuple[PreparedSecret, SshPublicKey] | None,
) -> AccessCredential:
    """Create a credential. `custody` is what an ssh_key needs, prepared before the transaction."""
    prepared, public = custody or (None, None)
    row = CredentialRow(
        id=new_id("crd"),
        tenant_id=caller.tenant_id,
        project_id=caller.project_id,
        name=body.name,
        kind=body.kind,
        secret_id=prepared.ref.secret_id if prepared else None,
        public_key=public.line if public else None,
        fingerprint=public.fingerprint if public else None,
        created_by=tx.actor.id,
        created_at=tx.now,
    )
    if not await queries.credential_insert(tx.connection, row):
        raise Problem("already_exists", "The project has a credential of this name.")
    if prepared is not None:
        await secrets.secret_store(tx, prepared)
    await _changed(tx, "create", row)
    return _credential(row, caller)


async def access_credential_list(connection: Connection, page: PageRequest, caller: Caller) -> Page[AccessCredential]:
    rows = await queries.credential_list(connection, caller.project_id, page)
    return Page[AccessCredential].of([_credential(row, caller) for row in rows], page)


async def access_credential_show(connection: Connection, credential_id: str, caller: Caller) -> AccessCredential:
    return _credential(await present(connection, caller.project_id, credential_id), caller)


async def access_credential_rotate(
    tx: Tx, before: CredentialRow, overlap: timedelta, caller: Caller, custody: tuple[PreparedSecret, SshPublicKey]
) -> AccessCredential:
    """Put the new key wherever the old one is. The old one ends now, or after the overlap; custody keeps the new only."""
    prepared, public = custody
    row = await _lock_living(tx, before.project_id, before.id)
    if row.version != before.version:
        raise Problem("conflict", "Another request rotated the credential at the same time.")
    grants = await queries.grants_of_credential(tx.connection, row.id, tx.now)
    if grants:
        # The work rows first, as the worker locks them.
        await allocations.access_changed(tx, *sorted({grant.allocation_id for grant in grants}))
        await access_queries.grants_insert(tx.connection, [_successor(tx, grant, public) for grant in grants])
        await _end_grants(tx, grants, overlap)
    await secrets.secret_store(tx, prepared)
    await secrets.secret_destroy(tx, secret_id_of(row), row.version)
    key = (public.line, public.fingerprint)
    changed = await queries.credential_rotate(tx.connection, row.id, prepared.ref.version, *key, tx.now)
    await _changed(tx, "rotate", changed, overlap_seconds=overlap.total_seconds(), grants=len(grants))
    return _credential(changed, caller)


def _successor(tx: Tx, grant: GrantRow, public: SshPublicKey) -> GrantRow:
    """Return a grant like this one for the credential's new key."""
    return replace(grant, id=new_id("grt"), public_key=public.line, fingerprint=public.fingerprint, created_at=tx.now)


async def _end_grants(tx: Tx, grants: list[GrantRow], overlap: timedelta) -> None:
    ids = [grant.id for grant in grants]
    if overlap:
        await queries.grants_end(tx.connection, ids, tx.now + overlap)
    else:
        await queries.grants_revoke(tx.connection, ids, tx.now)


async def access_credential_revoke(tx: Tx, credential_id: str, reason: str, caller: Caller) -> AccessCredential:
    """Revoke it: its key leaves every host, its certificates end, and nobody can open its private key. Twice is no error."""
    row = await _lock(tx, caller.project_id, credential_id)
    if row.revoked_at is None:
        grants = await queries.grants_of_credential(tx.connection, credential_id, tx.now)
        certificates = await queries.credential_certificates_revoke(tx.connection, credential_id, tx.now)
        opened = sorted({grant.allocation_id for grant in grants} | {one.allocation_id for one in certificates})
        if opened:
            await allocations.access_changed(tx, *opened)
            await queries.grants_revoke(tx.connection, [grant.id for grant in grants], tx.now)
        if row.secret_id is not None:
            await secrets.secret_destroy(tx, row.secret_id, row.version)
        row = await queries.credential_revoke(tx.connection, credential_id, tx.now)
    await _changed(tx, "revoke", row, reason)
    return _credential(row, caller)


async def present(connection: Connection, project_id: str, credential_id: str) -> CredentialRow:
    row = await queries.credential_show(connection, project_id, credential_id)
    if row is None:
        raise not_found("access credential", credential_id)
    return row


async def _lock(tx: Tx, project_id: str, credential_id: str) -> CredentialRow:
    row = await queries.credential_lock(tx.connection, project_id, credential_id)
    if row is None:
        raise not_found("access credential", credential_id)
    return row


async def _lock_living(tx: Tx, project_id: str, credential_id: str) -> CredentialRow:
    return require_not_revoked(await _lock(tx, project_id, credential_id))


def secret_id_of(row: CredentialRow) -> str:
    """Return the id of the secret with the private key, which every credential of the kind ssh_key has."""
    if row.secret_id is None:
        raise LookupError(f"credential {row.id} has no key in custody")
    return row.secret_id


def require_not_revoked(row: CredentialRow) -> CredentialRow:
    """Return the credential, or refuse it when it was revoked."""
    if row.revoked_at is not None:
        raise Problem("credential_revoked", f"{row.name} was revoked.")
    return row


async def _changed(tx: Tx, verb: str, row: CredentialRow, reason: str | None = None, **more: object) -> None:
    facts: dict[str, object] = {"kind": row.kind, "version": row.version, "fingerprint": row.fingerprint}
    entry = AuditEntry(
        f"access_credential_{verb}", row.id, row.tenant_id, row.project_id, reason=reason, details=facts | more
    )
    await audit.record(tx, entry)
    past = {"create": "created", "rotate": "rotated", "revoke": "revoked"}[verb]
    await emit(tx, NewEvent(f"access_credential.{past}", row.id, row.tenant_id, row.project_id, facts))


def _credential(row: CredentialRow, caller: Caller) -> AccessCredential:
    possible = _VERBS[row.kind] if row.revoked_at is None else ()
    return AccessCredential(**fields_of(row), allowed_actions=identity.allowed_actions(caller, possible))
