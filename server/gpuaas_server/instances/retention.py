"""Operations and timelines that have served their time are deleted, a portion at a time, for housekeeping."""

from datetime import datetime

from gpuaas_server.instances import member_queries, queries
from gpuaas_server.kernel.context import Tx
from gpuaas_server.operations import service as operations
from gpuaas_server.receipts import service as receipts


async def forget_operations(tx: Tx, before: datetime, portion: int) -> int:
    """Delete operations that ended before then; return how many were looked at.

    One that a receipt, an instance or a member still names is kept and looked at again later, so that it does not keep the
    sweep from the ones behind it.
    """
    ended = await operations.ended_operations(tx, before, portion)
    ids = [row.id for row in ended]
    named = await receipts.operations_referenced(tx.connection, ids)
    named |= await member_queries.operations_referenced(tx.connection, [row.instance_id for row in ended], ids)
    await operations.forget_operations(tx, ended, named)
    return len(ended)


async def forget_timelines(tx: Tx, before: datetime, portion: int) -> int:
    return await queries.event_delete_before(tx.connection, before, portion)
