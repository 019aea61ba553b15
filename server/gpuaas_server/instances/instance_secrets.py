"""The secrets of an instance, for people: list them, give a value, have one made anew. No value is ever shown."""

from collections.abc import Mapping, Sequence

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog.service import DeclaredSecret, Manifest, declared_secrets
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import queries, secret_queries, secret_rotation
from gpuaas_server.instances.locked_instance import LockedInstance, lock_instance
from gpuaas_server.instances.operation_requests import require_living
from gpuaas_server.instances.rows import InstanceRow, NewInstance
from gpuaas_server.instances.secret_queries import InstanceSecretRow
from gpuaas_server.instances.secret_schemas import InstanceSecret, InstanceSecretChanged, InstanceSecrets, SecretValue
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import Connection, Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.operations import service as operations
from gpuaas_server.secrets import service as secrets
from gpuaas_server.secrets.service import PreparedSecret, SecretOwner, SecretRef

PURPOSE = "instance_secret"


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value that a person gave, sealed before the transaction that keeps it."""

    name: str
    prepared: PreparedSecret


async def prepare_given(
    platform: Platform, tenant_id: str, project_id: str, values: Mapping[str, SecretValue]
) -> list[GivenValue]:
    """Seal the values of a launch."""
    contents = {name: value.content(name) for name, value in values.items()}  # all are checked before one is kept
    owner = SecretOwner(tenant_id, project_id, PURPOSE)
    return [GivenValue(name, await secrets.secret_prepare(platform, owner, one)) for name, one in contents.items()]


async def prepare_next(
    platform: Platform, scope: Scope, caller: Caller, instance_id: str, name: str, value: SecretValue
) -> GivenValue:
    """Seal a value for a secret that may have one already."""
    content = value.content(name)
    async with platform.database.connection(scope) as connection:
        if await queries.instance_show(connection, caller.project_id, instance_id) is None:
            raise not_found("instance", instance_id)
        known = (await secret_queries.secrets_of(connection, instance_id)).get(name)
    ref = None if known is None else SecretRef(known.secret_id, known.version + 1)
    owner = SecretOwner(caller.tenant_id, caller.project_id, PURPOSE)
    return GivenValue(name, await secrets.secret_prepare(platform, owner, content, ref))


async def discard(platform: Platform, given: Sequence[GivenValue]) -> None:
    for one in given:
        await secrets.secret_discard(platform, one.prepared)


async def keep_at_launch(tx: Tx, row: NewInstance, manifest: Manifest, given: Sequence[GivenValue]) -> None:
    """Keep what was given with the launch, and refuse one that lacks what the app needs."""
    declared = {one.key: one for one in manifest.secrets if one.source == "given"}
    named = {one.name for one in given}
    unknown = sorted(named - declared.keys())
    if unknown:
        raise Problem("invalid_request", f"secrets.{unknown[0]}: {manifest.slug} takes no such secret.")
    missing = sorted(key for key, one in declared.items() if one.required and key not in named)
    if missing:
        raise Problem("secret_missing", f"{manifest.slug} needs a value for {', '.join(missing)}.", {"names": missing})
    for one in given:
        await secrets.secret_store(tx, one.prepared)
        await secret_queries.secret_put(tx.connection, _row(tx, row, one))


async def instance_secret_list(connection: Connection, caller: Caller, instance_id: str) -> InstanceSecrets:
    row = await queries.instance_show(connection, caller.project_id, instance_id, identity.visible_apps(caller))
    if row is None:
        raise not_found("instance", instance_id)
    known = await secret_queries.secrets_of(connection, instance_id)
    items = [_shown(row, one, known.get(one.key), caller) for one in declared_secrets(row.manifest)]
    return InstanceSecrets(instance_id=instance_id, items=items)


async def instance_secret_set(tx: Tx, caller: Caller, instance_id: str, given: GivenValue) -> InstanceSecretChanged:
    """Keep a value that a person gives. Members get it by a reconcile, as soon as nothing else works on the instance."""
    locked = await lock_instance(tx, caller.project_id, instance_id)
    require_living(locked)
    declared = _declared(locked.row, given.name)
    if declared.source != "given":
        raise Problem("conflict", f"The platform makes the value of {given.name}. Rotate it instead.")
    known = (await secret_queries.secrets_of(tx.connection, instance_id)).get(given.name)
    if given.prepared.ref.version != (1 if known is None else known.version + 1):
        raise Problem("conflict", f"Another value of {given.name} was set at the same time. Set it again.")
    await secrets.secret_store(tx, given.prepared)
    await secret_queries.secret_put(tx.connection, _row(tx, locked.row, given))
    secret_rotation.note_given(locked, given.name)
    return await _changed(locked, caller, declared, "instance_secret_set", None)


async def instance_secret_rotate(
    tx: Tx, caller: Caller, instance_id: str, name: str, reason: str | None
) -> InstanceSecretChanged:
    """Have a generated value made anew, by a reconcile, as soon as nothing else works on the instance."""
    locked = await lock_instance(tx, caller.project_id, instance_id)
    require_living(locked)
    declared = _declared(locked.row, name)
    if declared.source != "generated":
        raise Problem("conflict", f"The value of {name} is given by people. Set another one instead.")
    secret_rotation.mark_due(locked, [name])
    return await _changed(locked, caller, declared, "instance_secret_rotate", reason)


async def _changed(
    locked: LockedInstance, caller: Caller, declared: DeclaredSecret, action: str, reason: str | None
) -> InstanceSecretChanged:
    tx, connection = locked.tx, locked.tx.connection
    operation_id = await secret_rotation.start_due_rotation(locked)
    locked.add_event(f"instance.{action.removeprefix('instance_')}", name=declared.key)
    row = await locked.store()
    facts: dict[str, object] = {"name": declared.key, "operation": operation_id}
    await record(tx, AuditEntry(action, row.id, row.tenant_id, row.project_id, reason=reason, details=facts))
    known = (await secret_queries.secrets_of(connection, row.id)).get(declared.key)
    operation = None
    if operation_id is not None:
        operation = await operations.operation_show(connection, caller, operation_id)
    return InstanceSecretChanged(secret=_shown(row, declared, known, caller), operation=operation)


def _declared(row: InstanceRow, name: str) -> DeclaredSecret:
    """Find it in the manifest, or in that of an upgrade which did not succeed: a value may be all that it lacked."""
    attempted = [] if row.attempted is None else declared_secrets(row.attempted["manifest"])
    for one in (*declared_secrets(row.manifest), *attempted):
        if one.key == name:
            return one
    raise not_found("secret", name)


def _row(tx: Tx, instance: InstanceRow | NewInstance, given: GivenValue) -> InstanceSecretRow:
    return InstanceSecretRow(
        instance_id=instance.id,
        name=given.name,
        tenant_id=instance.tenant_id,
        project_id=instance.project_id,
        secret_id=given.prepared.ref.secret_id,
        version=given.prepared.ref.version,
        set_at=tx.now,
        set_by=tx.actor.id,
        operation_id=None,
        read_at=None,
    )


def _shown(row: InstanceRow, one: DeclaredSecret, known: InstanceSecretRow | None, caller: Caller) -> InstanceSecret:
    verb = "instance_secret_rotate" if one.source == "generated" else "instance_secret_set"
    possible = [] if row.decommissioned_at is not None else [verb]
    return InstanceSecret.model_validate(
        {
            "name": one.key,
            "display_name": one.display_name or one.key,
            "description": one.description,
            "source": one.source,
            "required": one.required,
            "shared": one.shared,
            "version": None if known is None else known.version,
            "set_at": None if known is None else known.set_at,
            "set_by": None if known is None else known.set_by,
            "read_at": None if known is None else known.read_at,
            "rotation_due": one.key in row.secrets_due,
            "exposed": one.key in row.secrets_exposed,
            "allowed_actions": identity.allowed_actions(caller, possible),
        }
    )
