"""Host tasks: their way to the agent, their signature, and the rules of results."""

import asyncio
import base64
import time
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.host_tasks.service import NewTask
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.runtime import running_platform
from tests_support.agents import Host, Json, Site, inventory, slot
from tests_support.select import select

ACTOR = system_actor("test", "correlation-of-a-test")
TENANT = new_id("tnt")


async def send(platform: Platform, host: Host, resource_id: str = "", generation: int = 1) -> str:
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        resource = resource_id or new_id("alc")
        return await host_tasks.task_create(
            tx,
            node_id=host.node_id,
            tenant_id=TENANT,
            kind="provision",
            resource_id=resource,
            generation=generation,
            spec={"allocation_id": resource, "shape": "gpu_slice"},
            deadline=tx.now + timedelta(minutes=5),
            notify_kind="allocation",
            notify_subject=resource,
        )


async def work_rows(platform: Platform) -> list[tuple[str, str]]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT kind, subject FROM work_items ORDER BY id")
        return [(row["kind"], row["subject"]) for row in await cursor.fetchall()]


async def test_a_task_reaches_its_node_and_no_other(site: Site) -> None:
    host, other = await site.host(), await site.host("host-2", "10.0.0.2")
    task_id = await send(site.platform, host)
    (task,) = await host.poll()
    assert (task["task_id"], task["node_id"], task["correlation_id"]) == (
        task_id,
        host.node_id,
        "correlation-of-a-test",
    )
    assert await other.poll() == []


async def test_a_task_is_offered_until_its_result_came_except_to_who_has_it(site: Site) -> None:
    host = await site.host()
    task_id = await send(site.platform, host)
    assert [task["task_id"] for task in await host.poll()] == [task_id]
    assert [task["task_id"] for task in await host.poll()] == [task_id]
    assert await host.poll(have=task_id) == []
    await host.report((await host.poll())[0])
    assert await host.poll() == []


async def test_the_envelope_verifies_with_the_key_from_enrolment(site: Site) -> None:
    host = Host(site.client)
    trusted = {key["kid"]: key["public_key"] for key in (await host.enrol(await site.token())).json()["task_keys"]}
    await send(site.platform, host)
    (task,) = await host.poll()
    signed: Json = task["_signed"]
    key = Ed25519PublicKey.from_public_bytes(base64.b64decode(trusted[signed["kid"]]))
    message = b"gpuaas-task-v1\n" + str(signed["envelope"]).encode()
    key.verify(base64.b64decode(str(signed["signature"])), message)


async def test_a_waiting_poll_wakes_for_a_task_that_another_replica_wrote(site: Site) -> None:
    host = await site.host()
    async with running_platform(site.platform.settings) as second:
        waiting = asyncio.create_task(host.poll(wait=20))
        await asyncio.sleep(0.3)
        assert not waiting.done()
        task_id = await send(second, host)
        (task,) = await asyncio.wait_for(waiting, 60)  # a poll looks once, and again only when it is woken
        assert task["task_id"] == task_id


async def test_a_poll_without_tasks_ends_in_time_with_nothing(site: Site) -> None:
    host = await site.host()
    started = time.perf_counter()
    assert await asyncio.wait_for(host.poll(wait=1), 60) == []
    assert time.perf_counter() - started > 0.9


@pytest.mark.parametrize("query", ["wait=61", "wait=-1", "wait=1e1", "have=tsk_x", "have=,", "wait=%00"])
async def test_a_poll_with_senseless_parameters_is_refused(site: Site, query: str) -> None:
    host = await site.host()
    assert (await host.call("GET", f"/tasks?{query}")).status_code == 422


async def test_a_result_is_stored_and_wakes_who_asked(site: Site) -> None:
    host, resource = await site.host(), new_id("alc")
    await send(site.platform, host, resource)
    phases = [{"name": "make account", "status": "succeeded", "started_at": "2026-01-01T00:00:00Z"}]
    answer = await host.report((await host.poll())[0], phases=phases, evidence={"users": ["gpu"]})
    assert answer.status_code == 200
    assert ("allocation", resource) in await work_rows(site.platform)
    async with site.platform.database.connection(PLATFORM) as connection:
        (record,) = await host_tasks.tasks_of_resource(connection, resource)
        newest = (await host_tasks.newest_tasks(connection, [resource])).get(resource)
    assert record == newest
    assert (record.status, record.evidence) == ("succeeded", {"users": ["gpu"]})
    assert record.phases[0]["name"] == "make account"
    shown = await site.admin.get(f"/tasks/{record.id}")
    assert shown["status"] == "succeeded"
    assert (await site.admin.get(f"/nodes/{host.node_id}/tasks"))["items"] == [shown]


async def test_the_same_result_twice_counts_once_and_another_is_refused(site: Site) -> None:
    host = await site.host()
    await send(site.platform, host)
    (task,) = await host.poll()
    assert (await host.report(task)).status_code == 200
    before = await work_rows(site.platform)
    assert (await host.report(task)).status_code == 200
    assert await work_rows(site.platform) == before
    answer = await host.report(task, "failed", failure={"code": "x", "message": "y", "retryable": True})
    assert answer.json()["code"] == "task_already_reported"


async def test_a_result_for_the_task_of_another_node_is_refused(site: Site) -> None:
    host, other = await site.host(), await site.host("host-2", "10.0.0.2")
    await send(site.platform, host)
    (task,) = await host.poll()
    assert (await other.report(task)).json()["code"] == "task_not_found"
    progress = {"generation": 1, "phases": []}
    answer = await other.call("POST", f"/tasks/{task['task_id']}/progress", progress)
    assert answer.json()["code"] == "task_not_found"
    assert (await host.report(task)).status_code == 200


async def test_a_newer_generation_replaces_the_pending_task(site: Site) -> None:
    host, resource = await site.host(), new_id("alc")
    await send(site.platform, host, resource, 1)
    (old,) = await host.poll()
    newer = await send(site.platform, host, resource, 2)
    assert [task["task_id"] for task in await host.poll()] == [newer]
    assert (await host.report(old)).json()["code"] == "stale_generation"
    assert (await host.report(old | {"task_id": newer})).json()["code"] == "stale_generation"


async def test_progress_is_shown_while_the_task_runs_and_refused_after_it(site: Site) -> None:
    host = await site.host()
    task_id = await send(site.platform, host)
    (task,) = await host.poll()
    progress = {"generation": 1, "phases": [{"name": "copy image", "status": "running", "detail": "10 %\x00"}]}
    assert (await host.call("POST", f"/tasks/{task_id}/progress", progress)).status_code == 200
    assert (await site.admin.get(f"/tasks/{task_id}"))["phases"][0]["detail"] == "10 %\ufffd"
    await host.report(task)
    late = await host.call("POST", f"/tasks/{task_id}/progress", progress)
    assert late.json()["code"] == "stale_generation"


async def test_many_tasks_are_written_at_once(site: Site) -> None:
    host = await site.host()
    async with site.platform.transaction(PLATFORM, ACTOR) as tx:
        deadline = tx.now + timedelta(minutes=1)
        news = [
            NewTask(host.node_id, TENANT, "wipe", new_id("alc"), 1, {"n": n}, deadline, "allocation", new_id("alc"))
            for n in range(250)
        ]
        ids = await host_tasks.tasks_create(tx, news)
    found = await host.poll()
    assert [task["task_id"] for task in found] == ids[:100]
    rest = await host.poll(have=",".join(ids[:100]))
    assert [task["task_id"] for task in rest] == ids[100:200]


async def test_a_discover_task_brings_the_inventory(site: Site) -> None:
    host = await site.host()
    task_id = (await site.admin.post(f"/nodes/{host.node_id}/discover"))["id"]
    (task,) = await host.poll()
    await host.report(task, result={"inventory": inventory(slot(0), slot(1))})
    assert (await site.admin.get(f"/tasks/{task_id}"))["status"] == "succeeded"
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["slots"]["discovered"] == 2


@pytest.mark.parametrize("found", [None, [], {"slots": "x"}, inventory(slot(0), slot(0))])
async def test_a_discover_task_that_brings_nonsense_has_failed(site: Site, found: object) -> None:
    host = await site.host()
    task_id = (await site.admin.post(f"/nodes/{host.node_id}/discover"))["id"]
    (task,) = await host.poll()
    assert (await host.report(task, result={"inventory": found})).status_code == 200
    shown = await site.admin.get(f"/tasks/{task_id}")
    assert (shown["status"], shown["failure"]["code"]) == ("failed", "inventory_invalid")
    assert (await host.report(task, result={"inventory": found})).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"generation": 2**70, "status": "succeeded"},
        {"generation": 1, "status": "done"},
        {"generation": 1, "status": "succeeded", "evidence": {"n": float("inf")}},
    ],
)
async def test_a_senseless_result_is_refused(site: Site, body: Json) -> None:
    host = await site.host()
    task_id = await send(site.platform, host)
    assert (await host.call("POST", f"/tasks/{task_id}/result", body)).status_code == 422


async def test_odd_text_in_evidence_is_kept_readable(site: Site) -> None:
    host = await site.host()
    task_id = await send(site.platform, host)
    (task,) = await host.poll()
    assert (await host.report(task, evidence={"na\x00me": ["\ud800", "fine"]})).status_code == 200
    shown = await site.admin.get(f"/tasks/{task_id}")
    assert shown["evidence"] == {"na\ufffdme": ["\ufffd", "fine"]}
