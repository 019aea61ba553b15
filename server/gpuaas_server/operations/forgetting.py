"""Operations that have served their time go. What somebody can still be led to stays, and is looked at again later."""

from datetime import datetime

from gpuaas_server.instances import held as instances
from gpuaas_server.kernel.context import Tx
from gpuaas_server.operations import queries
from gpuaas_server.receipts import service as receipts


async def operations_forget(tx: Tx, before: datetime, portion: int) -> int:
    """Ended before then. How many were looked at: those that stay must not keep the sweep from the ones behind them."""
    connection = tx.connection
    ended = await queries.ended_before(connection, before, portion)
    ids = [row["id"] for row in ended]
    named = await receipts.operations_named(connection, ids)
    named |= await instances.operations_named(connection, [row["instance_id"] for row in ended], ids)
    single = [row["id"] for row in ended if row["target"] != "bulk" and row["id"] not in named]
    await queries.operations_delete(connection, single)
    bulk = [row["id"] for row in ended if row["target"] == "bulk" and row["id"] not in named]
    await queries.childless_delete(connection, bulk)
    await queries.operations_keep(connection, ids, tx.now)
    return len(ended)
