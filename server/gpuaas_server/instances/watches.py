"""The probes that hosts run for members: when a member's host begins and ends to run them. The caller holds the instance.

A host gets a task with all probes of a member, and says from then on what changes (probe_reports.py). Each start is a new
generation, so that a late report of an earlier one says nothing about the present.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.allocations.service import AllocationHost, allocation_hosts
from gpuaas_server.catalog.service import Probe, host_probes
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.service import NewTask
from gpuaas_server.instances.health import WORK as HEALTH_WORK
from gpuaas_server.instances.locked_instance import LockedInstance
from gpuaas_server.instances.machine import kind_for_member, member_done
from gpuaas_server.instances.probe_documents import ProbeDocument, WatchDocument
from gpuaas_server.instances.readiness import Readiness, ready_by
from gpuaas_server.instances.rows import MemberRow
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.service import CHANGES_VERSION, KINDS, TEARDOWNS, OperationRow

TASK = "probe"
# A host that is offline may hear of the end later: what it reports then is answered with the end.
END_TIME = timedelta(hours=1)
WATCHED = ("ready", "degraded")


def awaits_probes(locked: LockedInstance, operation: OperationRow, member: MemberRow) -> bool:
    """Tell whether the member is ready only once its host says so, whatever the controller reports."""
    if not _brings_up(operation, member) or member.host_gone:
        return False
    return any("readiness" in probe.purpose for probe in _wanted_probes(locked, operation, member))


async def start_watches(
    locked: LockedInstance, operation: OperationRow, members: Sequence[MemberRow]
) -> datetime | None:
    """Have hosts run the probes of the members that the operation made ready; return by when they must pass, if any must.

    `members` are those that the operation works on.
    """
    starting: list[tuple[MemberRow, WatchDocument]] = []
    for member in members:
        probes = _wanted_probes(locked, operation, member) if _becomes_ready(operation, member) else []
        if probes:
            starting.append((member, _next_watch(member, operation.id, locked.tx.now, probes)))
    await _send(locked, starting, operations.WORK, operation.id)
    due = (ready_by(locked.members[member.id]) for member, _ in starting)
    return max((at for at in due if at is not None), default=None)


async def end_watches(locked: LockedInstance) -> None:
    """Have hosts stop running the probes of members that are not up any more."""
    ending = [
        (member, _next_watch(member, member.watch["operation_id"], locked.tx.now, []))
        for member in locked.members.values()
        if member.watch is not None and member.probes and member.status not in WATCHED and member.operation_id is None
    ]
    there = [(member, watch) for member, watch in ending if not member.host_gone]
    await _send(locked, there, HEALTH_WORK, locked.id)


def watched_members(locked_members: Sequence[MemberRow], operation_id: str) -> list[MemberRow]:
    """List the members whose probes the operation waits for."""
    return [
        member
        for member in locked_members
        if member.watch is not None and member.watch["operation_id"] == operation_id and member.probes
    ]


def settle_unready(
    locked: LockedInstance, operation: OperationRow, members: Sequence[MemberRow], found: Readiness
) -> None:
    """Fail the members that are not ready, each with its own reason, before the operation fails."""
    for member in members:
        if not _brings_up(operation, member):
            continue
        why = found.unready.get(member.id)
        if why is None:
            kind = kind_for_member(operation.kind, member.id == operation.new_member_id)
            locked.set_member_status(member, member_done(kind, member.status, member.host_gone))
        elif member.status != "failed":
            locked.set_member_status(member, "failed", why.document())


def _brings_up(operation: OperationRow, member: MemberRow) -> bool:
    if member.id == operation.new_member_id:
        return True
    return operation.kind not in TEARDOWNS and KINDS[operation.kind].member_done == "ready"


def _becomes_ready(operation: OperationRow, member: MemberRow) -> bool:
    if not _brings_up(operation, member) or member.host_gone:
        return False
    kind = kind_for_member(operation.kind, member.id == operation.new_member_id)
    return member_done(kind, member.status) == "ready"


def _wanted_probes(locked: LockedInstance, operation: OperationRow, member: MemberRow) -> list[Probe]:
    """Return the probes of the version that the operation brings."""
    manifest = locked.row.manifest
    if operation.kind in CHANGES_VERSION and locked.row.attempted is not None:
        manifest = locked.row.attempted["manifest"]
    return host_probes(manifest, member.component_key)


def _next_watch(member: MemberRow, operation_id: str, now: datetime, probes: Sequence[Probe]) -> WatchDocument:
    before = 0 if member.watch is None else member.watch["generation"]
    return {
        "generation": before + 1,
        "operation_id": operation_id,
        "since": now.isoformat(),
        "probes": [_document(probe) for probe in probes],
    }


def _document(probe: Probe) -> ProbeDocument:
    return {
        "key": probe.key,
        "kind": probe.kind,
        "purpose": list(probe.purpose),
        "port": probe.port,
        "path": probe.path,
        "expected_status": list(probe.expected_status),
        "unit": probe.unit,
        "interval_seconds": probe.interval_seconds,
        "timeout_seconds": probe.timeout_seconds,
        "start_period_seconds": probe.start_period_seconds,
        "failures": probe.failures,
        "successes": probe.successes,
    }


async def _send(
    locked: LockedInstance, changed: Sequence[tuple[MemberRow, WatchDocument]], notify_kind: str, notify_subject: str
) -> None:
    if not changed:
        return
    hosts = await allocation_hosts(locked.tx.connection, [member.allocation_id for member, _ in changed])
    tasks = []
    for member, watch in changed:
        locked.change_member(member, watch=watch)
        deadline = ready_by(locked.members[member.id]) or locked.tx.now + END_TIME
        host = hosts.get(member.allocation_id)
        if host is not None:
            tasks.append(_task(member, watch, host, deadline, notify_kind, notify_subject))
    await host_tasks.tasks_create(locked.tx, tasks)


def _task(
    member: MemberRow,
    watch: WatchDocument,
    host: AllocationHost,
    deadline: datetime,
    notify_kind: str,
    notify_subject: str,
) -> NewTask:
    """Return the task of a member's host. The member is its resource, so that a newer task replaces one not taken yet."""
    spec: dict[str, object] = {
        "member_id": member.id,
        "allocation_id": member.allocation_id,
        "shape": host.shape,
        "probes": watch["probes"],
    }
    return NewTask(
        node_id=member.node_id,
        tenant_id=host.tenant_id,
        kind=TASK,
        resource_id=member.id,
        generation=watch["generation"],
        spec=spec,
        deadline=deadline,
        notify_kind=notify_kind,
        notify_subject=notify_subject,
    )
