"""Allocations that a host still reports and nobody claims any more: access must not outlive a release.

An allocation that was released by force while its node was offline still serves its tenant when the node comes back.
"""

from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.capacity import service as capacity
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.service import NewTask, TaskRow
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.nodes import machine, queries

DEPROVISION_SECONDS = 900
_FOR_RELEASE = ("allocation_id", "shape", "login_user", "slots")


@dataclass(frozen=True, slots=True)
class SentTasks:
    """Lists what was ever sent to hosts for one allocation."""

    node_id: str
    tenant_id: str | None
    generation: int  # the highest
    pending: bool
    spec: dict[str, object] | None  # what a deprovision needs, from the newest task that said it


def find_leftovers(
    node_id: str, reported: Collection[str], claimed: Collection[str], sent: Mapping[str, SentTasks]
) -> list[str]:
    """List allocations to deprovision again: the host reports them, nobody claims them, and no task for them is pending.

    An allocation that the platform never sent to this node is ignored: a host may report anything.
    """
    return [
        allocation_id
        for allocation_id in sorted(set(reported) - set(claimed))
        if (known := sent.get(allocation_id)) is not None
        and known.node_id == node_id
        and not known.pending
        and known.spec is not None
    ]


async def end_leftover_allocations(tx: Tx, node_id: str, reported: Sequence[str]) -> list[str]:
    """Deprovision what the host still has and nobody claims. Nearly always there is none, and this is one read."""
    if not reported or not set(reported) - set(await capacity.live_claims(tx.connection, node_id)):
        return []
    await queries.node_lock(tx.connection, node_id)  # two heartbeats at once would choose the same generation
    claimed = await capacity.live_claims(tx.connection, node_id)
    sent = {
        allocation_id: found
        for allocation_id in set(reported) - set(claimed)
        if (found := sent_of(await host_tasks.tasks_of_resource(tx.connection, allocation_id))) is not None
    }
    ended = find_leftovers(node_id, reported, claimed, sent)
    deadline = tx.now + timedelta(seconds=DEPROVISION_SECONDS)
    await host_tasks.tasks_create(
        tx,
        [
            NewTask(
                node_id,
                sent[allocation_id].tenant_id,
                "deprovision",
                allocation_id,
                sent[allocation_id].generation + 1,
                sent[allocation_id].spec or {},
                deadline,
                # The allocation has ended, so its reconciler does not wait for the result.
                machine.KIND,
                machine.SUBJECT,
            )
            for allocation_id in ended
        ],
    )
    if ended:
        await audit.record(tx, AuditEntry("agent_heartbeat", node_id, details={"deprovisioned_again": ended}))
    return ended


def sent_of(sent: Sequence[TaskRow]) -> SentTasks | None:
    """Sum up the tasks of one allocation, oldest generation first."""
    if not sent:
        return None
    specs = [task.spec for task in sent if task.kind in ("provision", "deprovision")]
    return SentTasks(
        node_id=sent[-1].node_id,
        tenant_id=sent[-1].tenant_id,
        generation=sent[-1].generation,
        pending=any(task.status == "pending" for task in sent),
        spec={name: specs[-1][name] for name in _FOR_RELEASE if name in specs[-1]} if specs else None,
    )
