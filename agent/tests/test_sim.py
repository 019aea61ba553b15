"""The simulated fleet against the same control plane as the real agent."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from pathlib import Path

import pytest
from little_platform import LittlePlatform

from gpuaas_agent.protocol import Failure, Result
from gpuaas_agent.sim import SimFleet, TaskReceipt
from gpuaas_agent.sim import fleet as fleet_module


async def wait_results(platform: LittlePlatform, task_ids: list[str]) -> list[dict[str, object]]:
    return [await asyncio.to_thread(platform.wait_result, task_id, 20) for task_id in task_ids]


def test_every_simulated_node_enrols_with_its_own_key_and_inventory(
    platform: LittlePlatform,
) -> None:
    async def story() -> None:
        async with SimFleet(platform.url, platform.bundle(), nodes=20, gpus=8) as fleet:
            assert len({node.node_id for node in fleet.nodes}) == 20

    asyncio.run(story())
    assert len(platform.nodes) == 20
    assert len(platform.inventories) == 20


def test_a_whole_life_of_an_allocation_is_answered(platform: LittlePlatform) -> None:
    received: list[TaskReceipt] = []

    def on_task(receipt: TaskReceipt) -> None:
        received.append(receipt)

    async def story() -> list[dict[str, object]]:
        fleet = SimFleet(None, platform.bundle(), nodes=1, on_task=on_task)
        async with fleet:
            results = []
            kinds = ["discover", "provision", "sync_access", "deprovision", "wipe", "verify_wipe"]
            for generation, kind in enumerate(kinds):
                spec: dict[str, object] = {"login_user": "gpu", "shape": "gpu_slice"}
                results += await wait_results(platform, [platform.submit(kind, spec, generation=generation)])
            results += await wait_results(platform, [platform.submit("wipe", {}, generation=0)])
            return results

    results = asyncio.run(story())
    assert [result["status"] for result in results] == ["succeeded"] * 6 + ["refused"]
    assert isinstance(results[5]["result"], dict)
    assert results[5]["result"]["clean"] is True
    assert all(receipt.received_at > 0 for receipt in received)


class BusyPlatform(LittlePlatform):
    """It answers no poll of a node that has a task in hand before that is done, as a platform with nothing else to do."""

    def poll(self, query: dict[str, list[str]]) -> dict[str, object]:
        for task_id in query.get("have", []):
            with self.changed:
                self.changed.wait_for(lambda task_id=task_id: task_id in self.results, 60)
        return super().poll(query)


def test_a_node_that_restarts_for_a_wipe_waits_for_no_poll(tmp_path: Path) -> None:
    async def story(platform: LittlePlatform) -> list[dict[str, object]]:
        async with SimFleet(None, platform.bundle(), nodes=1):
            task = platform.submit("wipe", {"shape": "baremetal", "grade": "rebooted"})
            return await wait_results(platform, [task])

    with BusyPlatform(tmp_path) as platform:
        [wiped] = asyncio.run(story(platform))
        assert wiped["status"] == "succeeded"
        assert len({str(beat["boot_id"]) for beat in platform.heartbeats}) == 2


def test_a_fleet_fails_as_often_as_it_is_told(platform: LittlePlatform) -> None:
    async def story() -> list[dict[str, object]]:
        rates = {"provision": 1.0}
        async with SimFleet(None, platform.bundle(), nodes=1, fail_rates=rates):
            task_ids = [
                platform.submit("provision", {}, resource_id="alc_1"),
                platform.submit("wipe", {}, resource_id="alc_2"),
            ]
            return await wait_results(platform, task_ids)

    assert [result["status"] for result in asyncio.run(story())] == ["failed", "succeeded"]


def test_the_callback_may_decide_the_result(platform: LittlePlatform) -> None:
    def on_task(receipt: TaskReceipt) -> Result:
        failure = Failure("chosen", "As the test wants it", "", False)
        return Result(receipt.envelope.generation, "failed", failure=failure)

    async def story() -> list[dict[str, object]]:
        async with SimFleet(None, platform.bundle(), nodes=1, on_task=on_task):
            return await wait_results(platform, [platform.submit("wipe", {})])

    failure = asyncio.run(story())[0]["failure"]
    assert isinstance(failure, dict)
    assert failure["code"] == "chosen"


def test_a_fleet_over_tls_pins_the_ca(tmp_path: Path) -> None:
    async def story(platform: LittlePlatform) -> int:
        async with SimFleet(None, platform.bundle(), nodes=3) as fleet:
            return len(fleet.nodes)

    with LittlePlatform(tmp_path, tls=True) as platform:
        assert asyncio.run(story(platform)) == 3


def test_a_refused_token_ends_the_start_with_an_error(platform: LittlePlatform) -> None:
    bundle = platform.bundle()
    platform.token = "another"

    async def story() -> None:
        async with SimFleet(None, bundle, nodes=2):
            pass

    with pytest.raises(Exception, match="enrolment_token_invalid"):
        asyncio.run(story())


def test_an_inspection_is_answered_as_a_real_host_with_nothing_left_would(platform: LittlePlatform) -> None:
    spec: dict[str, object] = {
        "receipt_id": "rcp_1",
        "instance_id": "ins_1",
        "allocation_id": "alc_1",
        "shape": "gpu_slice",
        "depth": "gone",
        "footprint": {"units": ["echo.service"]},
        "revoked_serials": [],
    }

    async def story() -> list[dict[str, object]]:
        async with SimFleet(None, platform.bundle(), nodes=1):
            hostile = {**spec, "footprint": {"paths": ["/opt/../etc"]}}
            task_ids = [
                platform.submit("inspect", spec, resource_id="rcp_1"),
                platform.submit("inspect", hostile, resource_id="rcp_2"),
            ]
            return await wait_results(platform, task_ids)

    sound, refused = asyncio.run(story())
    answer, failure = sound["result"], refused["failure"]
    assert isinstance(answer, dict)
    assert answer["receipt_id"] == "rcp_1"
    assert answer["checks"][0] == {
        "name": "units",
        "entries": ["echo.service"],
        "found": [],
        "left": 0,
        "not_in_footprint": [],
        "examined": 0,
        "problem": "",
    }
    assert len(answer["checks"]) == 10
    assert isinstance(failure, dict)
    assert failure["code"] == "spec_invalid"


def test_a_fleet_whose_server_is_not_there_says_so_while_it_tries(
    platform: LittlePlatform, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fleet_module, "QUIET_SECONDS", 0.3)

    async def story() -> str:
        said = ""
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))  # taken, and nobody listens
            url = f"http://127.0.0.1:{nobody.getsockname()[1]}"
            entering = asyncio.create_task(SimFleet(url, platform.bundle(), nodes=2).__aenter__())
            async with asyncio.timeout(60):
                while "fleet_not_ready" not in said:
                    await asyncio.sleep(0.05)
                    said += capsys.readouterr().err
            assert not entering.done(), "nobody enrolled them"
            entering.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await entering
        return said

    said = asyncio.run(story())
    told = [json.loads(line) for line in said.splitlines()]
    [first, *_] = [one for one in told if one["event"] == "fleet_not_ready"]
    assert (first["ready"], first["nodes"], first["url"].startswith("http://127.0.0.1:")) == (0, 2, True)
    assert first["trouble"]
