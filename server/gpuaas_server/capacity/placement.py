"""Claims GPUs for new allocations: what a project asks for, where it fits, and what it counts against."""

import logging
from collections.abc import Sequence

from psycopg import AsyncCursor

from gpuaas_server.capacity import offer_queries, queries, quota_queries, scheduler, sku_queries
from gpuaas_server.capacity.rows import OfferedSlot, RequestedSku
from gpuaas_server.capacity.scheduler import Placement, Requirements
from gpuaas_server.capacity.skus import sku_choose
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.wipe_grades import required_grade

log = logging.getLogger(__name__)

MOST_ATTEMPTS = 20  # looks before a request is refused while others keep changing the nodes that would fit


@dataclass(frozen=True, slots=True)
class PlacementRequest:
    """Describes what a project asks for: `count` allocations of `gpu_count` GPUs each, all or nothing."""

    tenant_id: str
    project_id: str
    sku: str  # its id or name
    gpu_count: int | None  # a SKU with one count needs none named
    count: int = 1
    gpus_released: int = (
        0  # GPUs of the same scopes that the transaction gives back: only the rest must fit into the quota
    )


@dataclass(frozen=True, slots=True)
class _ResolvedRequest:
    """A placement request after its SKU was looked up."""

    sku: RequestedSku
    gpu_count: int
    count: int

    @property
    def requirements(self) -> Requirements:
        """Return what a node must have, so that the release of the allocation can be proven."""
        grade = required_grade(self.sku.shape, self.sku.wipe_grade, self.sku.tenant_grade)
        erased = "drives" not in self.sku.accept_not_examined
        return Requirements(self.sku.gpu_model, self.sku.shape, grade, erased)


@dataclass(frozen=True, slots=True)
class Claim:
    """Holds what a transaction has claimed for a request: a placement for each new allocation id."""

    request: PlacementRequest
    sku: RequestedSku
    gpu_count: int
    placements: Sequence[tuple[str, Placement]]


async def claim(tx: Tx, request: PlacementRequest, unproven_most: int) -> Claim:
    """Claim GPUs for new allocations and count them against the quota, or raise the problem that says why not.

    The first statements change nothing and wait for no lock. They are sent before the transaction knows whether its request
    was answered before, and all the answers come in one round trip. Claim and count travel with the transaction's deferred
    writes, just before the COMMIT, because the quota's row is the one that all of a tenant's requests wait for.
    `unproven_most`: a tenant with that many GPUs that are not proven clean, where it has no limit of its own, gets no more.
    """
    asked_sku = await sku_queries.sku_ask(tx.connection, request.sku, request.tenant_id)
    await offer_queries.offers_begin(tx.connection)
    offers = await offer_queries.offers_ask_by_sku(
        tx.connection, request.sku, request.gpu_count, request.count, request.tenant_id
    )
    await tx.check_replay()
    sku, gpu_count = sku_choose(await asked_sku.fetchone(), request.sku, request.gpu_count)
    placements = await _place(tx, _ResolvedRequest(sku, gpu_count, request.count), offers)
    claimed = [(new_id("alc"), placement) for placement in placements]
    queries.claims_insert(tx.later, request.tenant_id, claimed, sku.shape == "baremetal", tx.now)
    _count_against_quota(tx, request, gpu_count * request.count, unproven_most)
    return Claim(request, sku, gpu_count, claimed)


async def _place(tx: Tx, resolved: _ResolvedRequest, first: AsyncCursor[OfferedSlot]) -> list[Placement]:
    """Try what nobody else has locked; then, before the refusal, wait for locks. Others' changes make it look again.

    Before it waits it unlocks everything, also after a look that found nothing: a node whose fit went away at that moment
    is locked all the same.
    """
    wait_for_locks = False
    cursor: AsyncCursor[OfferedSlot] | None = first
    for _ in range(MOST_ATTEMPTS):
        if cursor is None:
            cursor = await offer_queries.offers_ask(
                tx.connection, resolved.requirements, resolved.gpu_count, resolved.count, wait_for_locks
            )
        offered, cursor = await offer_queries.offers_read(cursor, resolved.gpu_count), None
        placements = scheduler.place(offered.nodes, resolved.gpu_count, resolved.count)
        if placements is not None:
            if offered.misfits:
                await _rebuild_index(tx, offered.misfits)
            return placements
        await offer_queries.offers_unlock(tx.connection)
        if offered.misfits:
            await _rebuild_index(tx, offered.misfits)
            await offer_queries.offers_begin(
                tx.connection
            )  # a new savepoint, so that the next unlock keeps the rebuilt index
            continue
        if wait_for_locks and not offered.stale:
            break
        # What we waited for was taken. Look at what is free now; otherwise callers that never wait would always be first.
        wait_for_locks = not wait_for_locks
    raise await _refusal(tx, resolved)


async def _refusal(tx: Tx, resolved: _ResolvedRequest) -> Problem:
    shortage = await offer_queries.shortage(tx.connection, resolved.requirements, resolved.gpu_count, resolved.count)
    details: dict[str, object] = {"sku": resolved.sku.name, "gpu_count": resolved.gpu_count, "count": resolved.count}
    detail = scheduler.refusal_detail(shortage)
    if shortage.below_grade:
        details["wipe_grade"] = grade = resolved.requirements.wipe_grade
        by = f"SKU {resolved.sku.name}" if resolved.sku.wipe_grade == grade else "tenant"
        detail = f"Hosts are free, but their agents can not prove a wipe as {grade}, which the {by} requires."
    elif shortage.drives_kept:
        detail = f"Nodes are free, but they do not erase drives, and SKU {resolved.sku.name} requires erased drives."
    return Problem(scheduler.refusal(shortage), detail, details)


async def _rebuild_index(tx: Tx, node_ids: Sequence[str]) -> None:
    """Rebuild the scheduler's index of nodes that offered what they do not have, so that no request tries them again."""
    log.warning("the scheduler's index was wrong, rebuilding it", extra={"nodes": list(node_ids)})
    await queries.nodes_lock(tx.connection, node_ids)
    await queries.refit(tx.connection, node_ids)


def _count_against_quota(tx: Tx, request: PlacementRequest, gpus: int, unproven_most: int) -> None:
    """Lock and count two scopes, always in the same order.

    Nobody waits for the answer: a quota that is used up fails the transaction as `quota_exceeded`; so does, as
    `unproven_releases`, a tenant with too many GPUs that are not proven clean.
    """
    scopes = ((request.project_id, "project"), (request.tenant_id, "tenant"))
    quota_queries.reserve_gpus(tx.later, scopes, request.tenant_id, gpus - request.gpus_released, unproven_most)
