"""A page and a stream of a member's log, with a host that answers, refuses, or belongs to somebody else."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import apps
from tests_support.agents import Json
from tests_support.apps import AppSite

SECONDS = 20.0


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened


def portion(task: Json, *texts: str, **more: Any) -> Json:
    lines = [
        {
            "cursor": f"s=1;i={n:x}",
            "at": 1_800_000_000_000_000 + n,
            "source": "a.service",
            "text": text,
            "priority": 6,
            "cut": False,
        }
        for n, text in enumerate(texts)
    ]
    return {"ticket": task["spec"]["ticket"], "lines": lines, "left_out": 0, "more": False, **more}


async def log_task(world: AppSite) -> Json:
    """Take the task as the host's agent does."""
    async with asyncio.timeout(SECONDS):
        while True:
            for task in await world.host.poll(wait=1):
                assert (await world.host.report(task)).status_code == 200
                if task["kind"] == "logs":
                    return task


async def asked(world: AppSite, instance_id: str, **query: str) -> tuple["asyncio.Task[httpx.Response]", Json]:
    path = f"{world.path}/instances/{instance_id}/logs?" + "&".join(f"{name}={value}" for name, value in query.items())
    reading = asyncio.create_task(world.admin.call("GET", path))
    return reading, await log_task(world)


async def test_a_page_is_what_the_host_brings_cleaned_and_the_task_is_bound_to_the_member(world: AppSite) -> None:
    instance_id = await world.running()
    member = (await world.members(instance_id))[0]
    reading, task = await asked(world, instance_id, member=member["id"], limit="2", source="a.service")
    spec = task["spec"]
    assert (spec["allocation_id"], spec["limit"], spec["order"], spec["follow"]) == (
        member["allocation_id"],
        2,
        "newest",
        False,
    )
    assert spec["units"]
    assert spec["since"] > 0
    brought = await world.host.call(
        "POST", f"/logs/{task['resource_id']}", portion(task, "\x1b[1mbold", "token=abcdefgh", more=True)
    )
    assert brought.json() == {"watched": True}
    page = (await reading).json()
    assert [line["text"] for line in page["lines"]] == ["bold", "token=********"]
    assert (page["next_cursor"], page["newest_cursor"]) == ("s=1;i=0", "s=1;i=1")
    again = await world.host.call("POST", f"/logs/{task['resource_id']}", portion(task, "late"))
    assert again.json() == {"watched": False}
    [record] = (await world.admin.get(f"{world.path}/audit?action=log_read"))["items"]
    assert record["resource_id"] == instance_id
    assert record["details"] == {"member_id": member["id"], "follow": False, "limit": 2}


async def test_what_a_host_cannot_do_is_a_problem_with_a_next_step(world: AppSite) -> None:
    instance_id = await world.running()
    member = (await world.members(instance_id))[0]["id"]
    path = f"{world.path}/instances/{instance_id}/logs?member={member}"
    reading = asyncio.create_task(world.admin.call("GET", path))
    failure = {"code": "task_kind_unknown", "message": "No such task", "next_step": "Update.", "retryable": False}
    async with asyncio.timeout(SECONDS):
        while not reading.done():
            for task in await world.host.poll(wait=1):
                status = "failed" if task["kind"] == "logs" else "succeeded"
                await world.host.report(task, status, **({"failure": failure} if status == "failed" else {}))
                await world.settle(answering=False)
    problem = reading.result().json()
    assert (problem["code"], problem["status"]) == ("log_read_failed", 502)
    assert "too old" in problem["detail"]
    assert problem["next_step"]


async def test_only_the_instances_own_project_reads_and_a_member_must_be_named(world: AppSite) -> None:
    instance_id = await world.running()
    other = await world.another_tenant("globex")
    member = (await world.members(instance_id))[0]["id"]
    for path in (
        f"{other.path}/instances/{instance_id}/logs?member={member}",
        f"{world.path}/instances/{instance_id}/logs?member={'mem_01jb2c3d4e5f6g7h8j9kamnpqr'}",
    ):
        assert (await world.admin.call("GET", path)).status_code == 404
    refused = await world.admin.call("GET", f"{world.path}/instances/{instance_id}/logs")
    assert refused.json()["code"] == "invalid_request"
    assert member in refused.json()["details"]["members"]
