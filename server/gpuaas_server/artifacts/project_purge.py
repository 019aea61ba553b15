"""The artifacts of a project that is purged: open intents are cancelled and all artifacts deleted, with their bytes."""

from gpuaas_server.artifacts import intent_queries, queries
from gpuaas_server.artifacts.machine import DELETE, IntentState
from gpuaas_server.artifacts.publish_intents import WORK, give_back_quota
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.work import leases


async def purge_portion(tx: Tx, settings: Settings, project_id: str, portion: int) -> int:
    """End some more. Return how much is left: artifacts, and intents whose bytes may still be there."""
    for intent_id in await intent_queries.intents_to_cancel(tx.connection, project_id, portion):
        ended = await intent_queries.intent_end(tx.connection, intent_id, IntentState.CANCELLED, tx.now)
        if ended is not None:
            await give_back_quota(tx, settings, ended)
            await leases.enqueue(tx, WORK, [intent_id], flow=ended.tenant_id)
    marked = await queries.artifacts_mark_deleting(tx.connection, project_id, tx.now, portion)
    if marked:
        await leases.enqueue(tx, DELETE, [row.id for row in marked], flow=marked[0].tenant_id)
    return await queries.artifacts_count(tx.connection, project_id) + await intent_queries.unsettled_intent_count(
        tx.connection, project_id, WORK
    )
