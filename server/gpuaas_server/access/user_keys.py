"""People's own SSH public keys."""

from gpuaas_server.access import queries
from gpuaas_server.access.rows import SshKeyRow
from gpuaas_server.access.schemas import SshKey, SshKeyCreate
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.pki.service import read_public_key


async def ssh_key_list(connection: Connection, user_id: str, page: PageRequest) -> Page[SshKey]:
    rows = await queries.ssh_key_list(connection, user_id, page)
    return Page[SshKey].of([SshKey(**fields_of(row)) for row in rows], page)


async def ssh_key_create(tx: Tx, body: SshKeyCreate) -> SshKey:
    public, key_id = read_public_key(body.public_key), new_id("ssk")
    row = SshKeyRow(key_id, tx.actor.tenant_id, tx.actor.id, body.name, public.line, public.fingerprint, tx.now)
    if not await queries.ssh_key_insert(tx.connection, row):
        raise Problem("already_exists", "This key is stored already.", {"fingerprint": public.fingerprint})
    await _audit(tx, "ssh_key_create", key_id, public.fingerprint)
    return SshKey(**fields_of(row))


async def ssh_key_delete(tx: Tx, key_id: str) -> None:
    """Delete the key. Grants made from it stay until they expire or are revoked: they are copies, and each is listed."""
    fingerprint = await queries.ssh_key_delete(tx.connection, tx.actor.id, key_id)
    if fingerprint is None:
        raise not_found("SSH key", key_id)
    await _audit(tx, "ssh_key_delete", key_id, fingerprint)


async def keys_delete(tx: Tx, user_id: str) -> None:
    """Delete all keys of a user that was deleted; that is audited already."""
    await queries.ssh_keys_delete(tx.connection, user_id)


async def _audit(tx: Tx, action: str, key_id: str, fingerprint: str) -> None:
    details: dict[str, object] = {"fingerprint": fingerprint}
    await audit.record(tx, AuditEntry(action, key_id, tx.actor.tenant_id or None, details=details))
