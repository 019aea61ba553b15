"""A lease and its tasks: whatever way an operation ends, nothing of it goes on in the event loop."""

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gpuaas_sdk import AsyncClient
from gpuaas_sdk.controller import AppController, Context, Failed
from gpuaas_sdk.controller.failures import Interrupted
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.controller.operation_runner import run_operation
from gpuaas_sdk.controller.replica import no_step_hook
from gpuaas_sdk.generated.models import ClaimedOperation
from gpuaas_sdk.reader import read

OPERATION = {"id": "opr_1", "instance_id": "ins_1", "kind": "deploy", "status": "claimed", "parameters": {}}
# The answer to every call: an operation, and a renewed lease.
ANSWER = {**OPERATION, "cancel_requested": False}


class OneStep(AppController):
    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error

    async def deploy(self, ctx: Context) -> None:
        async with ctx.step("only"):
            pass
        if self.error is not None:
            raise self.error


@pytest.fixture
def lease(platform: Any) -> Lease:
    until = (datetime.now(UTC) + timedelta(minutes=1)).isoformat()
    document = {
        "operation": OPERATION,
        "instance": {"id": "ins_1", "name": "one", "inputs": {}, "version": {"id": "ver_1"}},
        "members": [],
        "lease_token": "token",
        "lease_until": until,
    }
    return Lease(AsyncClient(platform.url, token="t"), "prj_1", read(ClaimedOperation, document))


@pytest.mark.parametrize(
    ("error", "refused", "outcome"),
    [
        (None, "", "succeeded"),
        (None, "complete", "lost"),
        (Failed("no", "It does not work."), "", "failed"),
        (Interrupted(), "give-back", "given_back"),
    ],
    ids=["it succeeds", "its lease is lost", "it fails", "it is given back"],
)
async def test_an_operation_that_has_ended_leaves_no_task_behind(
    platform: Any,
    answer: Any,
    problem_answer: Callable[..., Any],
    lease: Lease,
    error: BaseException | None,
    refused: str,
    outcome: str,
) -> None:
    def decide(received: Any) -> Any:
        if refused and received.path.endswith(refused):
            return problem_answer("lease_lost", 409)
        return answer(body=ANSWER)

    platform.decide = decide
    before = asyncio.all_tasks()
    assert await run_operation(OneStep(error), lease, no_step_hook) == outcome
    assert asyncio.all_tasks() == before
    await lease.api.close()


async def test_a_cancelled_operation_leaves_no_task_behind(platform: Any, answer: Any, lease: Lease) -> None:
    platform.answers(answer(body=ANSWER))
    reached = asyncio.Event()

    class Waits(OneStep):
        async def deploy(self, ctx: Context) -> None:
            await super().deploy(ctx)
            reached.set()
            await asyncio.Event().wait()

    before = asyncio.all_tasks()
    work = asyncio.create_task(run_operation(Waits(), lease, no_step_hook))
    await reached.wait()
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert asyncio.all_tasks() == before
    await lease.api.close()


class Reports(AppController):
    """It reports this of its instance, and then fails by this code."""

    def __init__(self, runtime: dict[str, object], code: str | None = None) -> None:
        self.runtime, self.code = runtime, code

    async def deploy(self, ctx: Context) -> None:
        ctx.set_runtime(**self.runtime)
        if self.code is not None:
            raise Failed(self.code, "It does not work.")


@pytest.mark.parametrize(
    ("app", "refused"),
    [
        (Reports({"answer": float("nan")}), "nothing"),
        (Reports({"answer": "\ud800"}), "nothing"),
        (Reports({"answer": {1, 2}}), "nothing"),
        (Reports({"answer": "long"}), "complete"),
        (Reports({}, "not a code"), "It does not work"),
    ],
    ids=["no number", "no text", "no JSON", "refused", "a failure that is refused"],
)
async def test_a_report_that_can_never_be_sent_ends_the_operation(
    platform: Any, answer: Any, problem_answer: Callable[..., Any], lease: Lease, app: Reports, refused: str
) -> None:
    def decide(received: Any) -> Any:
        if received.path.endswith(refused) or refused in received.body.decode():
            return problem_answer("document_too_large", 422)
        return answer(body=ANSWER)

    platform.decide = decide
    lease.queue_step({"name": "only", "status": "succeeded"})
    assert await run_operation(app, lease, no_step_hook) == "failed"
    last = json.loads(platform.received[-1].body)
    assert platform.received[-1].path.endswith("/fail")
    assert last["failure"]["code"] == "report_refused"
    assert last["members"] == []
    await lease.api.close()


@pytest.mark.parametrize(("runtime", "kept"), [({"version": "1"}, ["usage_counters"]), ({"usage_counters": []}, None)])
async def test_an_operation_puts_no_position_of_counters_back_that_it_does_not_report(
    platform: Any, answer: Any, lease: Lease, runtime: dict[str, object], kept: list[str] | None
) -> None:
    platform.answers(answer(body=ANSWER))
    assert await run_operation(Reports(runtime), lease, no_step_hook) == "succeeded"
    assert json.loads(platform.received[-1].body).get("runtime_kept") == kept
    await lease.api.close()
