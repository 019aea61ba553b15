"""Deliberate faults: what a broken build does, and processes that stop themselves at a chosen moment.

Each is put into one server process before it starts (see process.py), or into the database's schema. The checker must
report every one that breaks something, so each replaces the one thing that keeps an invariant.
"""

import os
import signal
from collections.abc import Callable, Coroutine, Sequence
from pathlib import Path
from typing import Any, TypeVar

import psycopg
from psycopg import AsyncCursor
from starlette.responses import Response

from gpuaas_server.access import queries as access_queries
from gpuaas_server.allocations import creation
from gpuaas_server.allocations import service as allocations
from gpuaas_server.events.service import NewEvent
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.http import idempotency
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.rows import execute_scalar
from gpuaas_server.work import leases
from gpuaas_server.work.leases import Lease

Result = TypeVar("Result")


def arming_file(directory: Path, part: str, fault: str) -> Path:
    """While it exists, the part stops itself at the moment that the fault names."""
    return directory / f"{part}.{fault}.armed"


def _stop_once(fault: str) -> None:
    """SIGSTOP to this very process, when the file says so, and only once: somebody else sends SIGCONT."""
    part = os.environ["GPUAAS_DATABASE_URL"].rpartition("application_name=")[2]
    armed = arming_file(Path(os.environ["GPUAAS_DATA_DIR"]).parent, part, fault)
    try:
        armed.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGSTOP)


def stop_before_key() -> None:
    """An api stops when it has read a request and before it takes its idempotency key."""
    ask = idempotency.ask

    async def stopped(tx: Tx, key: idempotency.IdempotencyKey) -> idempotency.KeyLookup:
        _stop_once("stop_before_key")
        return await ask(tx, key)

    idempotency.ask = stopped


def without_memory() -> None:
    """An api does not remember what it has refused under a key."""

    async def settle_nothing(self: idempotency.KeyedRequest, refusal: Response) -> Response:
        return refusal

    idempotency.KeyedRequest.settle_refusal = settle_nothing  # type: ignore[method-assign]


def stop_before_guard() -> None:
    """A worker stops when it has leased an allocation's work and before it stores the next step."""
    guard = leases.guard

    async def stopped(tx: Tx, taken: Sequence[Lease]) -> AsyncCursor[str]:
        if taken[0].kind == allocations.WORK:
            _stop_once("stop_before_guard")
        return await guard(tx, taken)

    leases.guard = stopped


def without_fence() -> None:
    """A worker stores its result whether or not the lease is still its own."""

    async def unguarded(tx: Tx, taken: Sequence[Lease]) -> AsyncCursor[str]:
        return await execute_scalar(tx.connection, str, "SELECT unnest(%s::text[])", ([lease.id for lease in taken],))

    leases.guard = unguarded


def events_outside() -> None:
    """Events are written by a connection of their own: they stay when the change is rolled back."""

    async def emit(tx: Tx, *news: NewEvent) -> None:
        url = os.environ["GPUAAS_DATABASE_URL"]
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            await connection.execute("SELECT set_config('gpuaas.platform', 'on', false)")
            for new in news:
                await connection.execute(
                    "INSERT INTO events (id, time, type, subject, tenant_id, project_id, correlation_id, data)"
                    " VALUES (%s, %s, %s, %s, %s, %s, %s, '{}')",
                    (new_id("evt"), tx.now, new.type, new.subject, new.tenant_id, new.project_id, "-"),
                )

    for module in (allocations, creation):
        module.emit = emit  # type: ignore[attr-defined]


def without_deletion() -> None:
    """An api answers that it deleted a key or a grant, and leaves it as it was."""
    access_queries.ssh_key_delete = _rolled_back(access_queries.ssh_key_delete)
    access_queries.grant_revoke = _rolled_back(access_queries.grant_revoke)


def _rolled_back(change: Callable[..., Coroutine[Any, Any, Result]]) -> Callable[..., Coroutine[Any, Any, Result]]:
    async def undone(connection: Connection, *values: Any) -> Result:
        async with connection.transaction(force_rollback=True):
            return await change(connection, *values)

    return undone


# A scheduler that sees no claims: it offers what is taken. Claims are kept apart by the database's own indexes, or not at all.
BLIND_SCHEDULER = """
CREATE OR REPLACE FUNCTION live_claims_on(nodes text[], OUT taken_whole text[], OUT taken_at_all text[],
  OUT taken_slots text[]) LANGUAGE sql AS $$ SELECT '{}'::text[], '{}'::text[], '{}'::text[] $$;
CREATE FUNCTION chaos.keep_available() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.status := 'available';
  RETURN NEW;
END $$;
CREATE TRIGGER chaos_keep_available BEFORE UPDATE ON node_resource_slots FOR EACH ROW
  WHEN (NEW.status = 'claimed') EXECUTE FUNCTION chaos.keep_available();
"""
WITHOUT_CLAIM_INDEX = """
ALTER TABLE allocation_resource_claims DROP CONSTRAINT allocation_resource_claims_no_overlap;
DROP INDEX allocation_resource_claims_one_per_slot;
DROP INDEX allocation_resource_claims_one_per_node;
"""
FAULTS: dict[str, Callable[[], None]] = {
    "stop_before_key": stop_before_key,
    "stop_before_guard": stop_before_guard,
    "without_memory": without_memory,
    "without_fence": without_fence,
    "events_outside": events_outside,
    "without_deletion": without_deletion,
}
