"""Events about a host for the projects that have allocations on it."""

from collections import defaultdict
from collections.abc import Sequence

from gpuaas_server.allocations import queries
from gpuaas_server.allocations.hooks import allocation_hooks
from gpuaas_server.allocations.rows import UnendedAllocation
from gpuaas_server.allocations.service import LIVE, WORK, allocation_event
from gpuaas_server.events.service import emit
from gpuaas_server.kernel.context import Tx
from gpuaas_server.nodes.service import HostChange
from gpuaas_server.work import leases
from gpuaas_server.work.lanes import Lane

# Changes that decide how a release goes on: the reconciler looks again at whatever has not ended there.
_DECISIVE = ("lost", "back")


async def announce_host_change(tx: Tx, change: HostChange) -> None:
    """Emit one event for each live allocation, found by one query for all the nodes."""
    rows = await queries.unended_on_nodes(tx.connection, change.node_ids)
    if not rows:
        return
    if change.kind in _DECISIVE:
        await _look_again(tx, rows)
        await allocation_hooks().hosts_changed(tx, [row.id for row in rows])
    facts = {**change.data, "reason": change.reason} if change.reason else change.data
    news = [allocation_event(f"allocation.host_{change.kind}", row, **facts) for row in rows if row.state in LIVE]
    if news:
        await emit(tx, *news)


async def _look_again(tx: Tx, rows: Sequence[UnendedAllocation]) -> None:
    """Enqueue the reconciler's work for the allocations, in the share of each tenant."""
    of_tenant: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        of_tenant[row.tenant_id].append(row.id)
    for tenant_id, allocation_ids in sorted(of_tenant.items()):
        await leases.enqueue(tx, WORK, allocation_ids, lane=Lane.SAFETY, flow=tenant_id)
