"""Lets a controller read an instance's secrets while it holds the lease of an operation: sealed to its key.

What reaches beyond the database (sealing, opening) happens outside transactions. First the values that are missing, or that
a rotation is to replace, are made and kept; then all are opened and sealed; then it is recorded that they were read.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog.service import DeclaredSecret
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import queries, secret_queries
from gpuaas_server.instances.instance_secrets import PURPOSE
from gpuaas_server.instances.rows import InstanceRow
from gpuaas_server.instances.secret_queries import InstanceSecretRow
from gpuaas_server.instances.secret_schemas import OperationSecret, OperationSecrets, OperationSecretsRead
from gpuaas_server.instances.secret_values import make_value, needs_new_value, rotated_names, secrets_of_operation
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import Connection, Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import OperationRow
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.schemas import SealedBox
from gpuaas_server.secrets.service import PreparedSecret, SecretOwner, SecretRef


@dataclass(frozen=True, slots=True)
class SecretReader:
    """Says who reads the secrets of which operation."""

    platform: Platform
    scope: Scope
    actor: Actor
    caller: Caller
    operation_id: str
    body: OperationSecretsRead


@dataclass(frozen=True, slots=True)
class LeasedSecrets:
    instance: InstanceRow
    operation: OperationRow
    declared: Sequence[DeclaredSecret]
    known: Mapping[str, InstanceSecretRow]

    def missing_or_rotated(self) -> list[DeclaredSecret]:
        return [one for one in self.declared if needs_new_value(one, self.known, self.operation)]

    def next_ref(self, name: str) -> SecretRef | None:
        row = self.known.get(name)
        return None if row is None else SecretRef(row.secret_id, row.version + 1)


async def generate_missing_secrets(reader: SecretReader) -> None:
    """Make the values that the operation needs and that there are not yet. An attempt that follows a crash finds them."""
    platform = reader.platform
    async with platform.database.connection(reader.scope) as connection:
        leased = await _leased(connection, reader, platform.clock())
    missing = leased.missing_or_rotated()
    if not missing:
        return
    owner = SecretOwner(leased.instance.tenant_id, reader.caller.project_id, PURPOSE)
    made = {
        one.key: await secrets.secret_prepare(platform, owner, make_value(one), leased.next_ref(one.key))
        for one in missing
    }
    kept: set[str] = set()
    try:
        async with platform.transaction(reader.scope, reader.actor) as tx:
            kept = await _keep_made(tx, reader, made)
    except Problem:
        kept = set()
        raise
    finally:
        for name, prepared in made.items():
            if name not in kept:
                await secrets.secret_discard(platform, prepared)


async def _keep_made(tx: Tx, reader: SecretReader, made: Mapping[str, PreparedSecret]) -> set[str]:
    """Keep what is still missing: another call with the same lease may have been quicker."""
    leased = await _leased(tx.connection, reader, tx.now, lock=True)
    kept: set[str] = set()
    for one in leased.missing_or_rotated():
        prepared, row = made.get(one.key), leased.known.get(one.key)
        if prepared is None or prepared.ref.version != (1 if row is None else row.version + 1):
            continue
        await secrets.secret_store(tx, prepared)
        await secret_queries.secret_put(tx.connection, _row(tx, leased, one.key, prepared))
        kept.add(one.key)
    await _record(tx, leased, "instance_secret_make", sorted(kept))
    return kept


def _row(tx: Tx, leased: LeasedSecrets, name: str, prepared: PreparedSecret) -> InstanceSecretRow:
    return InstanceSecretRow(
        instance_id=leased.instance.id,
        name=name,
        tenant_id=leased.instance.tenant_id,
        project_id=leased.instance.project_id,
        secret_id=prepared.ref.secret_id,
        version=prepared.ref.version,
        set_at=tx.now,
        set_by=tx.actor.id,
        operation_id=leased.operation.id,
        read_at=None,
    )


async def seal_values(reader: SecretReader) -> OperationSecrets:
    """Seal every value to the controller. Only here they are in clear, in this function's memory."""
    async with reader.platform.database.connection(reader.scope) as connection:
        leased = await _leased(connection, reader, reader.platform.clock())
    rotated = rotated_names(leased.operation)
    items = []
    for one in leased.declared:
        row = leased.known.get(one.key)
        if row is None and one.source == "given" and one.required:
            message = f"The secret {one.key} has no value."
            raise Problem("secret_missing", message, {"names": [one.key]})
        if row is not None:
            items.append(await _sealed(reader, leased, row, one.key in rotated))
    return OperationSecrets(operation_id=reader.operation_id, items=items)


async def _sealed(
    reader: SecretReader, leased: LeasedSecrets, row: InstanceSecretRow, rotated: bool
) -> OperationSecret:
    info = f"instance-secret:{leased.instance.id}:{row.name}:{row.version}"
    key = reader.body.recipient_key
    clear = await secrets.secret_open(reader.platform, reader.scope, SecretRef(row.secret_id, row.version))
    before = await _previous(reader, row)
    return OperationSecret(
        name=row.name,
        version=row.version,
        sealed=_box(key, clear, info),
        previous_sealed=None if before is None else _box(key, before, f"{info}:previous"),
        rotated=rotated,
    )


def _box(recipient_key: str, clear: bytes, info: str) -> SealedBox:
    return SealedBox(format=secrets.BOX_FORMAT, info=info, box=secrets.seal_to(recipient_key, clear, info))


async def _previous(reader: SecretReader, row: InstanceSecretRow) -> bytes | None:
    if row.version == 1:
        return None
    try:
        return await secrets.secret_open(reader.platform, reader.scope, SecretRef(row.secret_id, row.version - 1))
    except Problem as problem:
        if problem.code == "secret_unreadable":  # destroyed: every member has the present one
            return None
        raise


async def operation_secret_read(tx: Tx, reader: SecretReader, sealed: OperationSecrets) -> OperationSecrets:
    """Record that the values were read, if they are still the ones that hold."""
    leased = await _leased(tx.connection, reader, tx.now, lock=True)
    known = {name: row.version for name, row in leased.known.items()}
    if any(known.get(one.name) != one.version for one in sealed.items):
        raise Problem("conflict", "A secret was changed at the same time. Read them again.")
    names = [one.name for one in sealed.items]
    await secret_queries.secrets_read(tx.connection, leased.instance.id, names, tx.now)
    await _record(tx, leased, "operation_secret_read", names)
    return sealed


async def _leased(connection: Connection, reader: SecretReader, now: datetime, *, lock: bool = False) -> LeasedSecrets:
    """Find the operation that the caller holds the lease of, or raise the problem that says why not."""
    found = await operations.find_operation(connection, reader.caller.project_id, reader.operation_id)
    operations.require_bound(found, identity.bound_apps(reader.caller))
    read = queries.instance_lock if lock else queries.instance_show
    instance = await read(connection, reader.caller.project_id, found.instance_id)
    if instance is None:
        raise not_found("instance", found.instance_id)
    token = reader.body.lease_token
    operation = operations.require_lease(reader.actor, now, found, reader.operation_id, token)
    known = await secret_queries.secrets_of(connection, instance.id)
    return LeasedSecrets(instance, operation, secrets_of_operation(instance, operation), known)


async def _record(tx: Tx, leased: LeasedSecrets, action: str, names: Sequence[str]) -> None:
    row = leased.instance
    details: dict[str, object] = {"instance": row.id, "names": list(names), "kind": leased.operation.kind}
    await record(tx, AuditEntry(action, leased.operation.id, row.tenant_id, row.project_id, details=details))
