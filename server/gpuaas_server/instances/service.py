"""The verbs of app instances; one transaction each. An app's controller does the work, and operations say how far it is."""

from collections.abc import Sequence

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog.manifest import Manifest, from_document
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import launching, queries, serving
from gpuaas_server.instances.allocations import (
    allocation_ended,
    allocation_guests,
    allocation_wants_release,
    hosts_changed,
)
from gpuaas_server.instances.flags import WORK as FLAG_WORK
from gpuaas_server.instances.flags import artifact_subject, tenant_subject, version_subject
from gpuaas_server.instances.held import Held, hold
from gpuaas_server.instances.machine import BRINGS_CURRENT, InstanceView, judge, possible_verbs
from gpuaas_server.instances.modes import refuse_closed
from gpuaas_server.instances.queries import InstanceFilter
from gpuaas_server.instances.schemas import (
    Instance,
    InstanceCreate,
    InstanceStarted,
    InstanceSummary,
    InstanceUpgrade,
    InstanceVerb,
)
from gpuaas_server.instances.version_gate import refuse_version, rollback_target
from gpuaas_server.instances.views import caller_over, instance_of, summary_of
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.ending import set_rotation_aside
from gpuaas_server.operations.starting import Wish, instance_operation_start, refuse_while_busy
from gpuaas_server.projects.service import ProjectFacts
from gpuaas_server.work import leases

__all__ = [
    "InstanceFilter",
    "allocation_ended",
    "allocation_guests",
    "allocation_wants_release",
    "artifact_flagged",
    "hosts_changed",
    "instance_create",
    "instance_list",
    "instance_operate",
    "instance_show",
    "instance_upgrade",
    "live_on_digest",
    "live_on_version",
    "tenant_trust_changed",
    "version_retired",
]


async def instance_create(tx: Tx, caller: Caller, body: InstanceCreate) -> InstanceStarted:
    """Choose, check, write instance and members, and ask for the deploy."""
    tenant_id, project_id = caller.tenant_id, caller.project_id
    version = await launching.version_choose(tx.connection, tenant_id, project_id, body.app, body.version)
    launching.inputs_check(version.manifest, body.inputs)
    served = await _served_from_the_start(tx, caller, version.manifest, body.served_projects)
    wished = body.placement_intent
    open_to = await serving.places_open_to(tx, caller, "instance_create", list(served))
    taken = await launching.places_take(tx, open_to, [one.allocation_id for one in wished])
    await launching.places_check(tx.connection, project_id, version.manifest, wished, taken, served=list(served))
    await queries.name_lock(tx.connection, project_id, body.name)
    if await queries.instance_name_taken(tx.connection, project_id, body.name):
        raise Problem("already_exists", f"The project has an instance named {body.name}.")
    row = _new_row(tx, tenant_id, project_id, body, version)
    await queries.instance_insert(tx.connection, row)
    await serving.serve_from_the_start(tx, row, list(served.values()))
    held = await hold(tx, project_id, str(row["id"]))
    held.news("instance.created", version=version.manifest.version)
    wish = Wish("deploy", None, body.deadline_seconds, {"version": version.manifest.version})
    operation_id = await instance_operation_start(held, wish)
    for one in wished:
        held.member_add(one.component_key, taken.places[one.allocation_id], None)
    facts: dict[str, object] = {"version": version.manifest.version, **({"serves": sorted(served)} if served else {})}
    await serving.record_elsewhere(held, "instance_create", held.living(), facts)
    return await _started(held, caller, operation_id, "instance_create", facts)


async def _served_from_the_start(
    tx: Tx, caller: Caller, manifest: Manifest, wished: Sequence[str]
) -> dict[str, ProjectFacts]:
    further = [one for one in dict.fromkeys(wished) if one != caller.project_id]
    if not further:
        return {}
    serving.require_scope(manifest)
    return await serving.projects_admitted(tx, caller, further, "served_project_set")


def _new_row(
    tx: Tx, tenant_id: str, project_id: str, body: InstanceCreate, version: launching.Version
) -> dict[str, object]:
    health = judge(InstanceView("created", False, None, {}, ()))
    return {
        "id": new_id("ins"),
        "tenant_id": tenant_id,
        "project_id": project_id,
        "name": body.name,
        "app_id": version.app_id,
        "app_slug": version.manifest.slug,
        **version.columns(),
        "inputs": body.inputs,
        "placement_intent": [],
        "health": health.status,
        "health_reasons": list(health.reasons),
        "member_counts": {},
        "next_ordinal": 0,
        "operation_id": None,
        "created_by": tx.actor.id,
        "correlation_id": tx.actor.correlation_id,
        "now": tx.now,
    }


async def instance_show(connection: Connection, caller: Caller, project_id: str, instance_id: str) -> Instance:
    row = await queries.instance_seen(connection, project_id, instance_id, identity.apps_in_sight(caller))
    if row is None:
        raise not_found("instance", instance_id)
    shown = instance_of(row, caller_over(row, project_id, caller))
    notices = await launching.notices_of(connection, row["version_id"])
    return shown.model_copy(update={"flags": [*shown.flags, *notices]})


async def instance_list(
    connection: Connection,
    caller: Caller,
    project_id: str,
    wanted: InstanceFilter,
    after: str | None,
    limit: int,
) -> Page[InstanceSummary]:
    """Of those that others have and that serve the project, nothing can be asked from here."""
    seen = identity.apps_in_sight(caller)
    rows = await queries.instance_list(connection, project_id, wanted, after, limit + 1, seen)
    shown = [summary_of(row, caller_over(row, project_id, caller)) for row in rows]
    return Page[InstanceSummary].of(shown, limit)


async def instance_operate(
    tx: Tx, caller: Caller, project_id: str, instance_id: str, kind: str, body: InstanceVerb
) -> InstanceStarted:
    """Any verb on the whole instance that needs nothing but its name."""
    held = await hold(tx, project_id, instance_id)
    await set_rotation_aside(held)
    _require_possible(held, kind)
    parameters = _options(launching.manifest_of(held.row), kind, body)
    target = rollback_target(held.row) if kind == "rollback" else None
    if target is not None or kind in BRINGS_CURRENT:
        await refuse_version(tx.connection, held.row, target or held.row)
    if target is not None:
        if await held.look_whom_it_serves():
            serving.require_scope(from_document(target["manifest"]))
        held.change(attempted=target)
        parameters |= {"version": target["version"], "from": held.row["version"]}
    wish = Wish(kind, body.reason, body.deadline_seconds, parameters)
    operation_id = await instance_operation_start(held, wish)
    return await _started(held, caller, operation_id, f"instance_{kind}", parameters, body.reason)


async def instance_upgrade(
    tx: Tx, caller: Caller, project_id: str, instance_id: str, body: InstanceUpgrade
) -> InstanceStarted:
    """The version changes when the upgrade has succeeded; until then both are known."""
    held = await hold(tx, project_id, instance_id)
    await set_rotation_aside(held)
    _require_possible(held, "upgrade")
    tenant_id = held.row["tenant_id"]
    slug = held.row["app_slug"]
    version = await launching.version_choose(tx.connection, tenant_id, project_id, slug, body.version)
    if version.version_id == held.row["version_id"]:
        raise Problem("conflict", f"The instance is of version {body.version} already.")
    launching.inputs_check(version.manifest, held.row["inputs"])
    if await held.look_whom_it_serves():
        serving.require_scope(version.manifest)
    await launching.version_fits(tx.connection, project_id, version.manifest, held.living(), held.served)
    parameters = _options(version.manifest, "upgrade", body)
    held.change(attempted=version.columns())
    parameters |= {"version": version.manifest.version, "from": held.row["version"]}
    wish = Wish("upgrade", body.reason, body.deadline_seconds, parameters)
    operation_id = await instance_operation_start(held, wish)
    return await _started(held, caller, operation_id, "instance_upgrade", parameters, body.reason)


def _options(manifest: Manifest, kind: str, body: InstanceVerb) -> dict[str, object]:
    """As the operation keeps them. Whoever reads the operation reads them: they are no place for a secret."""
    launching.options_check(manifest, kind, body.options)
    return {"options": body.options} if body.options else {}


def _require_possible(held: Held, kind: str) -> None:
    row = held.row
    if row["decommissioned_at"] is not None:
        raise Problem("conflict", "The instance is decommissioned; it is kept for its history only.")
    refuse_while_busy(held)
    back = row["previous"] is not None or row["attempted"] is not None
    if kind not in possible_verbs(row["status"], row["deployed_at"] is not None, False, False, back):
        hint = " It has no version to go back to." if kind == "rollback" and not back else ""
        raise Problem("conflict", f"The instance is {row['status']}: {kind} is not possible now.{hint}")
    refuse_closed(row, kind)


async def _started(
    held: Held,
    caller: Caller,
    operation_id: str,
    action: str,
    details: dict[str, object],
    reason: str | None = None,
) -> InstanceStarted:
    row = await held.store()
    facts = {"app": row["app_slug"], "operation": operation_id, **details}
    place = (row["id"], row["tenant_id"], row["project_id"])
    await record(held.tx, AuditEntry(action, *place, reason=reason, details=facts))
    operation = await operations.operation_show(held.tx.connection, caller, row["project_id"], operation_id)
    return InstanceStarted(instance=instance_of(row, caller), operation=operation)


# For the rooms that instances stand on


async def live_on_digest(connection: Connection, digest: str) -> int:
    """How many instances that are not gone run from these bytes."""
    return await queries.live_instances(connection, digest, None)


async def live_on_version(connection: Connection, version_id: str) -> int:
    return await queries.live_instances(connection, None, version_id)


async def artifact_flagged(tx: Tx, digest: str, publisher_project_id: str) -> None:
    """A project's artifact may have lost or regained its trust. Instances of other tenants too may run from it, or could
    return to it: see flags.py.
    """
    await leases.enqueue(tx, FLAG_WORK, [artifact_subject(digest, publisher_project_id)])


async def version_retired(tx: Tx, version_id: str) -> None:
    """Nobody runs it any more, but instances may keep it to return to."""
    await leases.enqueue(tx, FLAG_WORK, [version_subject(version_id)])


async def tenant_trust_changed(tx: Tx, tenant_id: str) -> None:
    """The tenant trusts other keys than before, or wants signatures now."""
    await leases.enqueue(tx, FLAG_WORK, [tenant_subject(tenant_id)])
