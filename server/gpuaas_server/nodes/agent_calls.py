"""The verbs of agents: enrol, heartbeat, inventory, progress, result. Each limits itself to the node that signed the call."""

import base64

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.service import PhaseDocument, TaskReport
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.failures import FailureDocument
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.nodes import addresses, inventory, leftover_allocations, queries
from gpuaas_server.nodes import facts as node_facts
from gpuaas_server.nodes.addresses import NodeAddresses
from gpuaas_server.nodes.agent_schemas import AgentHeartbeat, Phase, PlatformTrust, TaskFailure, TaskKey, TaskResult
from gpuaas_server.nodes.rows import ReportedFacts
from gpuaas_server.nodes.tls_anchors import AnchorDocuments
from gpuaas_server.pki import service as pki


async def platform_trust(platform: Platform, documents: AnchorDocuments) -> PlatformTrust:
    async with platform.database.connection(PLATFORM) as connection:
        published = await pki.published_keys(connection, "task_signing", "ssh_user_ca", "ssh_host_ca", "tls_ca")
    return PlatformTrust(
        tls_anchors=await documents.current(published),
        server_time=platform.clock(),
        task_keys=[
            TaskKey(kid=key.kid, public_key=base64.b64encode(key.raw).decode())
            for key in published
            if key.kind == "task_signing"
        ],
        user_ca_keys=[key.ssh_line for key in published if key.kind == "ssh_user_ca"],
        host_ca_keys=[key.ssh_line for key in published if key.kind == "ssh_host_ca"],
    )


async def heartbeat(tx: Tx, node_id: str, body: AgentHeartbeat, has_moved: bool) -> None:
    """Store the facts of a heartbeat, and record when one of them changed. The gate has noted the sign of life already."""
    if has_moved:
        await addresses.addresses_report(tx, node_id, NodeAddresses.read(body.address, body.slice_addresses))
    await leftover_allocations.end_leftover_allocations(
        tx, node_id, [entry.allocation_id for entry in body.allocations]
    )
    await node_facts.claim_store(tx, node_id, body.configuration, body.agent_sha256)
    anchors = None if body.tls_anchors is None else sorted(body.tls_anchors)
    facts = ReportedFacts(body.agent_version, body.boot_id, body.ssh_host_public_key, anchors)
    before = await queries.node_facts_set(tx.connection, node_id, facts)
    if before is None:
        return
    known = fields_of(before)
    changed: dict[str, object] = {
        name: {"before": known[name], "after": value}
        for name, value in fields_of(facts).items()
        if value != known[name]
    }
    await audit.record(tx, AuditEntry("agent_heartbeat", node_id, details=changed))
    if before.boot_id not in (None, body.boot_id):
        await events.emit(tx, NewEvent("node.rebooted", node_id))


async def task_result(tx: Tx, node_id: str, task_id: str, body: TaskResult, key_generation: int) -> None:
    report = host_tasks.limit_report(
        TaskReport(
            generation=body.generation,
            status=body.status,
            phases=phase_documents(body.phases),
            result=body.result,
            evidence=body.evidence,
            failure=None if body.failure is None else _failure_document(body.failure),
        )
    )
    reported = await host_tasks.report_store(tx, node_id, task_id, report, key_generation)
    if not reported.first:
        return
    details: dict[str, object] = {"kind": reported.kind, "status": report.status, "resource_id": reported.resource_id}
    if reported.kind == "discover" and report.status == "succeeded":
        details |= await _discovered(tx, node_id, task_id, body)
    await audit.record(tx, AuditEntry("agent_task_result", task_id, details=details))


async def _discovered(tx: Tx, node_id: str, task_id: str, body: TaskResult) -> dict[str, object]:
    """Store the inventory. A wrong one fails the task and changes nothing else: refusing the report would only repeat it."""
    try:
        await inventory.inventory_store(tx, node_id, inventory.read_inventory(body.result.get("inventory")))
    except Problem as problem:
        if problem.code != "inventory_invalid":
            raise
        kind = problem.kind
        failure: FailureDocument = {
            "code": kind.code,
            "message": problem.detail,
            "next_step": kind.next_step,
            "retryable": False,
        }
        await host_tasks.mark_failed(tx, task_id, failure)
        return {"failure": failure}
    return {}


def phase_documents(phases: list[Phase]) -> list[PhaseDocument]:
    return [
        {
            "name": phase.name,
            "status": phase.status,
            "started_at": phase.started_at.isoformat() if phase.started_at else None,
            "finished_at": phase.finished_at.isoformat() if phase.finished_at else None,
            "detail": phase.detail,
        }
        for phase in phases
    ]


def _failure_document(failure: TaskFailure) -> FailureDocument:
    return {
        "code": failure.code,
        "message": failure.message,
        "next_step": failure.next_step,
        "retryable": failure.retryable,
    }
