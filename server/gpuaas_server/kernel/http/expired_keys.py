"""Removes idempotency keys whose answers are no longer promised. Housekeeping calls it, in the worker."""

from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import rows_removed


async def expired_keys_forget(tx: Tx, portion: int) -> int:
    return await rows_removed(
        tx.connection,
        "DELETE FROM idempotency_keys WHERE ctid = ANY(ARRAY(SELECT ctid FROM idempotency_keys"
        " WHERE expires_at <= %s ORDER BY expires_at LIMIT %s FOR UPDATE SKIP LOCKED))",
        (tx.now, portion),
    )
