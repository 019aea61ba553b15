"""Runs one claimed operation to its end: the app's handler works while the lease is renewed beside it."""

import asyncio
import logging
from contextlib import suppress
from datetime import UTC, datetime

from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.connections import HostConnections
from gpuaas_sdk.controller.context import Context, OperationReport, StepHook
from gpuaas_sdk.controller.failures import Failed, Failure, Interrupted, LeaseLost, failure_of, one_line
from gpuaas_sdk.controller.hosts import instance_environment
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.errors import GpuaasError, InvalidRequest, ServerFailed, Unreachable

# What a report raises that can never be sent: no JSON can hold it, or the platform refuses its content.
UNACCEPTABLE = (InvalidRequest, ValueError, TypeError, RecursionError)
log = logging.getLogger(__name__)


async def run_operation(app: AppController, lease: Lease, step_hook: StepHook) -> str:
    """Returns the outcome: succeeded, failed, given_back or lost. No task of the lease outlives this call."""
    renewer = asyncio.create_task(lease.renew_until_lost())
    try:
        return await _run_to_end(app, lease, step_hook, renewer)
    finally:
        renewer.cancel()
        await asyncio.wait({renewer})
        await lease.close()


async def _run_to_end(app: AppController, lease: Lease, step_hook: StepHook, renewer: asyncio.Task[None]) -> str:
    report = OperationReport()
    handler = asyncio.create_task(_run_handler(app, lease, step_hook, report))
    try:
        await asyncio.wait({handler, renewer}, return_when=asyncio.FIRST_COMPLETED)
        if not handler.done():  # the renewer returned: the lease is lost, so the handler must stop
            handler.cancel()
        failure = await handler
        renewer.cancel()
        return await _report_end(lease, report, failure)
    except LeaseLost:
        return "lost"
    except Interrupted:
        return await _give_back(lease)
    except asyncio.CancelledError:
        if renewer.done():
            return "lost"
        handler.cancel()
        await asyncio.wait({handler})
        await _give_back(lease)  # this replica shuts down and waits no longer
        raise
    except GpuaasError as error:  # the end was not reported: the lease expires, and another replica repeats the work
        log.error("The end of %s could not be reported: %s", lease.operation_id, error)
        return "lost"


async def _run_handler(
    app: AppController, lease: Lease, step_hook: StepHook, report: OperationReport
) -> Failure | None:
    connections = HostConnections(lease, instance_environment(lease.claimed.instance.id))
    try:
        async with asyncio.timeout(_seconds_left(lease)):
            await app.handler(lease.claimed.operation.kind)(Context(lease, connections, step_hook, report))
        return None
    except (Unreachable, ServerFailed) as error:  # the platform is unavailable: the operation resumes when it is back
        log.warning("%s is interrupted: %s", lease.operation_id, error)
        raise Interrupted from error
    except Exception as error:
        if not isinstance(error, Failed):
            log.exception("The handler of %s failed", lease.operation_id)
        return failure_of(error)
    finally:
        await connections.close()  # before the end is reported: the platform then inspects the hosts for open sessions


async def _report_end(lease: Lease, report: OperationReport, failure: Failure | None) -> str:
    """Report how the operation ended. A report that can never be sent is a failure: else the work would begin again."""
    members = list(report.members.values())
    if failure is None:
        try:
            await lease.complete(members, report.runtime, report.access_bundle)
            return "succeeded"
        except UNACCEPTABLE as error:
            failure, members = _unacceptable(lease, error), []
    log.warning("%s failed: %s: %s", lease.title, failure.code, one_line(failure.message))
    try:
        await lease.fail(failure, [one for one in members if one["status"] in ("failed", "degraded")])
    except UNACCEPTABLE as error:
        await lease.fail(_unacceptable(lease, error), with_steps=False)
    return "failed"


def _unacceptable(lease: Lease, error: Exception) -> Failure:
    """Return the failure that is reported in place of a report. It repeats nothing of the report's content."""
    log.error("The report of %s cannot be sent: %s", lease.title, one_line(str(error)))
    why = f"the platform refused it ({error.code})" if isinstance(error, GpuaasError) else "it is not valid JSON"
    message = f"The controller could not report how the operation ended: {why}."
    return Failure("report_refused", message, "Read the controller's log, and check what the hosts answer.", False)


async def _give_back(lease: Lease) -> str:
    with suppress(GpuaasError, LeaseLost):
        await lease.give_back()
    return "given_back"


def _seconds_left(lease: Lease) -> float | None:
    deadline = lease.claimed.operation.deadline_at
    return None if deadline is None else max(1.0, (deadline - datetime.now(UTC)).total_seconds() - 2.0)
