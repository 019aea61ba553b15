"""One claimed operation, from the claim to its end: the handler runs, the lease is renewed beside it."""

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.context import Context, Gate, Said
from gpuaas_sdk.controller.doors import Doors
from gpuaas_sdk.controller.failures import Failed, Failure, Interrupted, LeaseLost, failure_of
from gpuaas_sdk.controller.hosts import mark_of
from gpuaas_sdk.controller.line import Lease
from gpuaas_sdk.errors import GpuaasError, ServerFailed, Unreachable

log = logging.getLogger(__name__)


async def carry_out(app: AppController, lease: Lease, gate: Gate) -> str:
    """How it went: succeeded, failed, given_back or lost."""
    said = Said()
    handler = asyncio.create_task(_handle(app, lease, gate, said))
    keeper = asyncio.create_task(lease.keep())
    try:
        await asyncio.wait({handler, keeper}, return_when=asyncio.FIRST_COMPLETED)
        if not handler.done():  # the keeper ended: the lease is lost, and so is the right to go on
            handler.cancel()
        failure = await handler
        keeper.cancel()
        return await _told(lease, said, failure)
    except LeaseLost:
        return "lost"
    except Interrupted:
        return await _given_back(lease)
    except asyncio.CancelledError:
        if keeper.done():
            return "lost"
        handler.cancel()
        await asyncio.wait({handler})
        await _given_back(lease)  # this replica is told to end now
        raise
    except GpuaasError as error:  # the end of the work could not be said; the lease lapses, another replica repeats it
        log.error("the end of %s could not be told: %s", lease.operation_id, error)
        return "lost"
    finally:
        keeper.cancel()


async def _handle(app: AppController, lease: Lease, gate: Gate, said: Said) -> Failure | None:
    doors = Doors(lease, mark_of(lease.claimed.instance.id))
    try:
        async with asyncio.timeout(_seconds_left(lease)):
            await app.handler(lease.claimed.operation.kind)(Context(lease, doors, gate, said))
        return None
    except (Unreachable, ServerFailed) as error:  # the platform is away: what was begun goes on when it is back
        log.warning("%s is interrupted: %s", lease.operation_id, error)
        raise Interrupted from error
    except Exception as error:
        if not isinstance(error, Failed):
            log.exception("the handler of %s failed", lease.operation_id)
        return failure_of(error)
    finally:
        await doors.close()  # before the end is told: a host that is looked at then shows no session of ours


async def _told(lease: Lease, said: Said, failure: Failure | None) -> str:
    members = list(said.members.values())
    if failure is None:
        await lease.complete(members, said.runtime, said.access_bundle)
        return "succeeded"
    await lease.fail(failure, [one for one in members if one["status"] in ("failed", "degraded")])
    return "failed"


async def _given_back(lease: Lease) -> str:
    with suppress(GpuaasError, LeaseLost):
        await lease.give_back()
    return "given_back"


def _seconds_left(lease: Lease) -> float | None:
    deadline = lease.claimed.operation.deadline_at
    return None if deadline is None else max(1.0, (deadline - datetime.now(UTC)).total_seconds() - 2.0)
