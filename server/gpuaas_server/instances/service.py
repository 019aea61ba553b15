"""The verbs of app instances; one transaction each. An app's controller does the work, and operations say how far it is."""

from collections.abc import Sequence
from datetime import datetime

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.catalog import service as catalog
from gpuaas_server.catalog.service import Manifest, from_document
from gpuaas_server.controllers import service as controllers
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import instance_secrets, launch, queries, served_projects
from gpuaas_server.instances.allocation_changes import (
    allocation_ended,
    allocation_has_members,
    ask_members_to_leave,
    hosts_changed,
)
from gpuaas_server.instances.flags import WORK as FLAG_WORK
from gpuaas_server.instances.flags import artifact_subject, tenant_subject, version_subject
from gpuaas_server.instances.instance_secrets import GivenValue
from gpuaas_server.instances.locked_instance import LockedInstance, lock_instance
from gpuaas_server.instances.log_targets import LogTarget, log_target
from gpuaas_server.instances.machine import InstanceView, derive_health, possible_verbs, refuse_closed
from gpuaas_server.instances.metered_instances import MeteredInstance, load_metered_instance, member_allocations
from gpuaas_server.instances.operation_requests import require_idle, require_living
from gpuaas_server.instances.operation_start import start_instance_operation
from gpuaas_server.instances.queries import InstanceFilter
from gpuaas_server.instances.retention import forget_operations, forget_timelines
from gpuaas_server.instances.rows import NewInstance
from gpuaas_server.instances.schemas import (
    Instance,
    InstanceCreate,
    InstanceStarted,
    InstanceSummary,
    InstanceUpgrade,
    InstanceVerb,
)
from gpuaas_server.instances.version_check import refuse_version, rollback_target
from gpuaas_server.instances.views import caller_over, instance_of, summary_of
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem, not_found
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import BRINGS_CURRENT, KINDS, OperationRequest
from gpuaas_server.projects.service import ProjectFacts
from gpuaas_server.work import leases

__all__ = [
    "InstanceFilter",
    "LogTarget",
    "MeteredInstance",
    "allocation_ended",
    "allocation_has_members",
    "artifact_flagged",
    "ask_members_to_leave",
    "digests_running",
    "forget_operations",
    "forget_timelines",
    "hosts_changed",
    "instance_create",
    "instance_list",
    "instance_operate",
    "instance_show",
    "instance_upgrade",
    "last_instance_ends",
    "live_on_digest",
    "live_on_version",
    "load_metered_instance",
    "log_target",
    "member_allocations",
    "tenant_trust_changed",
    "version_retired",
]


async def instance_create(
    tx: Tx, settings: Settings, caller: Caller, body: InstanceCreate, given: Sequence[GivenValue] = ()
) -> InstanceStarted:
    """Choose, check, write instance and members, and ask for the deploy."""
    tenant_id, project_id = caller.tenant_id, caller.project_id
    version = await launch.choose_version(tx.connection, tenant_id, project_id, body.app, body.version)
    launch.check_inputs(version.manifest, body.inputs)
    version = await launch.complete_version(tx.connection, tenant_id, project_id, version, body.inputs)
    served = await _requested_projects(tx, caller, version.manifest, body.served_projects)
    requested = body.placement_intent
    open_to = await served_projects.usable_projects(tx, caller, "instance_create", list(served))
    allocations = await launch.lock_allocations(tx, open_to, [one.allocation_id for one in requested])
    await launch.check_placements(
        tx.connection, project_id, version.manifest, requested, allocations, served=list(served)
    )
    if body.when_no_controller == "refuse":
        await controllers.require_controller(tx.connection, settings, tx.now, tenant_id, project_id, body.app)
    await queries.name_lock(tx.connection, project_id, body.name)
    if await queries.instance_name_taken(tx.connection, project_id, body.name):
        raise Problem("already_exists", f"The project has an instance named {body.name}.")
    row = _new_row(tx, tenant_id, project_id, body, version)
    await queries.instance_insert(tx.connection, row)
    await instance_secrets.keep_at_launch(tx, row, version.manifest, given)
    await served_projects.insert_served_projects(tx, row, list(served.values()))
    locked = await lock_instance(tx, project_id, row.id)
    locked.add_event("instance.created", version=version.manifest.version)
    request = OperationRequest("deploy", None, body.deadline_seconds, {"version": version.manifest.version})
    operation_id = await start_instance_operation(locked, request)
    for one in requested:
        locked.add_member(one.component_key, allocations.facts[one.allocation_id], None)
    facts: dict[str, object] = {"version": version.manifest.version, **({"serves": sorted(served)} if served else {})}
    await served_projects.record_elsewhere(locked, "instance_create", locked.living_members(), facts)
    return await _started(locked, caller, operation_id, "instance_create", facts)


async def _requested_projects(
    tx: Tx, caller: Caller, manifest: Manifest, requested: Sequence[str]
) -> dict[str, ProjectFacts]:
    further = [one for one in dict.fromkeys(requested) if one != caller.project_id]
    if not further:
        return {}
    served_projects.require_scope(manifest)
    return await served_projects.admitted_projects(tx, caller, further, "served_project_set")


def _new_row(tx: Tx, tenant_id: str, project_id: str, body: InstanceCreate, version: launch.Version) -> NewInstance:
    health = derive_health(InstanceView("created", False, None, {}, ()))
    return NewInstance(
        id=new_id("ins"),
        tenant_id=tenant_id,
        project_id=project_id,
        name=body.name,
        app_id=version.app_id,
        app_slug=version.manifest.slug,
        **version.document(),
        inputs=body.inputs,
        reconcile_policy=body.reconcile_policy,
        health=health.status,
        health_reasons=list(health.reasons),
        created_by=tx.actor.id,
        correlation_id=tx.actor.correlation_id,
        now=tx.now,
    )


async def instance_show(connection: Connection, caller: Caller, instance_id: str, now: datetime) -> Instance:
    row = await queries.instance_seen(connection, caller.project_id, instance_id, identity.visible_apps(caller))
    if row is None:
        raise not_found("instance", instance_id)
    shown = instance_of(row, caller_over(row, caller), now)
    notices = await launch.notices_of(connection, row.version_id)
    return shown.model_copy(update={"flags": [*shown.flags, *notices]})


async def instance_list(
    connection: Connection,
    caller: Caller,
    wanted: InstanceFilter,
    page: PageRequest,
) -> Page[InstanceSummary]:
    """List instances. Those of other projects that serve this one offer no actions here."""
    seen = identity.visible_apps(caller)
    rows = await queries.instance_list(connection, caller.project_id, wanted, page, seen)
    shown = [summary_of(row, caller_over(row, caller)) for row in rows]
    return Page[InstanceSummary].of(shown, page)


async def instance_operate(tx: Tx, caller: Caller, instance_id: str, kind: str, body: InstanceVerb) -> InstanceStarted:
    """Start an operation on the whole instance that needs nothing but its kind."""
    locked = await lock_instance(tx, caller.project_id, instance_id)
    await _require_possible(locked, kind)
    parameters = _options(launch.manifest_of(locked.row), kind, body)
    target = rollback_target(locked.row) if KINDS[kind].needs_previous else None
    if target is not None or kind in BRINGS_CURRENT:
        await refuse_version(tx.connection, locked.row, target or locked.row.current_version())
    if target is not None:
        if await locked.load_served_projects():
            served_projects.require_scope(from_document(target["manifest"]))
        locked.change(attempted=target)
        parameters |= {"version": target["version"], "from": locked.row.version}
    request = OperationRequest(kind, body.reason, body.deadline_seconds, parameters)
    operation_id = await start_instance_operation(locked, request)
    return await _started(locked, caller, operation_id, f"instance_{kind}", parameters, body.reason)


async def instance_upgrade(tx: Tx, caller: Caller, instance_id: str, body: InstanceUpgrade) -> InstanceStarted:
    """Start an upgrade. The version changes when it has succeeded; until then both are known."""
    locked = await lock_instance(tx, caller.project_id, instance_id)
    await _require_possible(locked, "upgrade")
    tenant_id = locked.row.tenant_id
    slug = locked.row.app_slug
    version = await launch.choose_version(tx.connection, tenant_id, caller.project_id, slug, body.version)
    if version.version_id == locked.row.version_id:
        raise Problem("conflict", f"The instance runs version {body.version} already.")
    launch.check_inputs(version.manifest, locked.row.inputs)
    version = await launch.complete_version(tx.connection, tenant_id, caller.project_id, version, locked.row.inputs)
    if await locked.load_served_projects():
        served_projects.require_scope(version.manifest)
    await launch.check_version_fits(
        tx.connection, caller.project_id, version.manifest, locked.living_members(), locked.served_project_ids
    )
    parameters = _options(version.manifest, "upgrade", body)
    locked.change(attempted=version.document())
    parameters |= {"version": version.manifest.version, "from": locked.row.version}
    request = OperationRequest("upgrade", body.reason, body.deadline_seconds, parameters)
    operation_id = await start_instance_operation(locked, request)
    return await _started(locked, caller, operation_id, "instance_upgrade", parameters, body.reason)


def _options(manifest: Manifest, kind: str, body: InstanceVerb) -> dict[str, object]:
    """Check the options, and return them as the operation keeps them. Its readers see them: they must hold no secret."""
    launch.check_options(manifest, kind, body.options)
    return {"options": body.options} if body.options else {}


async def _require_possible(locked: LockedInstance, kind: str) -> None:
    require_living(locked)
    await require_idle(locked)
    row = locked.row
    back = row.previous is not None or row.attempted is not None
    if kind not in possible_verbs(row.status, row.deployed_at is not None, False, False, back):
        hint = " It has no version to go back to." if KINDS[kind].needs_previous and not back else ""
        raise Problem("conflict", f"The instance is {row.status}: {kind} is not possible now.{hint}")
    refuse_closed(row.mode, kind)


async def _started(
    locked: LockedInstance,
    caller: Caller,
    operation_id: str,
    action: str,
    details: dict[str, object],
    reason: str | None = None,
) -> InstanceStarted:
    row = await locked.store()
    facts = {"app": row.app_slug, "operation": operation_id, **details}
    place = (row.id, row.tenant_id, row.project_id)
    await record(locked.tx, AuditEntry(action, *place, reason=reason, details=facts))
    operation = await operations.operation_show(locked.tx.connection, caller, operation_id)
    return InstanceStarted(instance=instance_of(row, caller, locked.tx.now), operation=operation)


# Connected to the hooks of the nouns below, in wiring.py


async def live_on_digest(connection: Connection, digest: str) -> int:
    """Count the instances that are not gone and run from these bytes, even in only one component."""
    naming = await catalog.versions_naming(connection, [digest])
    return await queries.live_instances(connection, digest, [one.version_id for one in naming])


async def digests_running(connection: Connection, digests: Sequence[str]) -> list[str]:
    """Return the digests from which an instance runs that is not gone, even in only one component."""
    naming = await catalog.versions_naming(connection, digests)
    return await queries.digests_running(connection, digests, [(one.digest, one.version_id) for one in naming])


async def last_instance_ends(connection: Connection, digests: Sequence[str]) -> dict[str, datetime]:
    """Return when an instance that ran from the digest last ended, even in only one component, by digest."""
    naming = await catalog.versions_naming(connection, digests)
    found = await queries.last_ends(connection, digests, [(one.digest, one.version_id) for one in naming])
    return {one.digest: one.ended_at for one in found}


async def live_on_version(connection: Connection, version_id: str) -> int:
    return await queries.live_instances(connection, None, [version_id])


async def artifact_flagged(tx: Tx, digest: str, publisher_project_id: str) -> None:
    """Note that a project's artifact may have lost or regained trust. Instances of other tenants too may run from it, or could
    return to it: see flags.py.
    """
    await leases.enqueue(tx, FLAG_WORK, [artifact_subject(digest, publisher_project_id)])


async def version_retired(tx: Tx, version_id: str) -> None:
    """Derive the flags of instances that could return to a version which was retired."""
    await leases.enqueue(tx, FLAG_WORK, [version_subject(version_id)])


async def tenant_trust_changed(tx: Tx, tenant_id: str) -> None:
    """Derive the flags of a tenant's instances after it changed the keys that it trusts, or began to want signatures."""
    await leases.enqueue(tx, FLAG_WORK, [tenant_subject(tenant_id)])
