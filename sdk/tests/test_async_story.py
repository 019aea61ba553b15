"""The async client on a real server: pages, uploads and downloads, watch, follow, wait."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gpuaas_sdk import AsyncClient, CapacityRefused, Conflict, NewAllocation, Token
from gpuaas_sdk.signatures import digest_of
from gpuaas_sdk.testing import Sandbox

SETTLE = 60.0


@pytest.fixture
async def client(fleet: Sandbox) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(fleet.server.url, credentials=fleet.credentials("project_admin")) as one:
        yield one


async def test_allocations_are_followed_until_they_are_settled_and_listed_page_by_page(
    client: AsyncClient, fleet: Sandbox
) -> None:
    project = fleet.project_id
    made = await client.allocations.create(project, NewAllocation(sku="h100-slice", gpu_count=1, count=2))
    seen = [(one.id, one.state) async for one in client.allocations.follow(project, [one.id for one in made], SETTLE)]
    assert {(one.id, "active") for one in made} <= set(seen)
    assert {one.id for one in await client.allocations.list(project).all()} >= {one.id for one in made}
    for one in made:
        await client.allocations.release(project, one.id, reason="the test ends")
        assert [last async for last in client.allocations.follow(project, [one.id], SETTLE)][-1].state == "released"


async def test_a_watch_yields_events_and_resumes_after_its_cursor(client: AsyncClient, fleet: Sandbox) -> None:
    project = fleet.project_id
    begin = await client.events.end(project)
    [made] = await client.allocations.create(project, NewAllocation(sku="h100-slice", gpu_count=1))
    first, left_at = [], begin
    async for event in client.watch(project, subject=made.id, after=begin, deadline=SETTLE):
        first.append(event)
        left_at = event.cursor
        if len(first) == 2:
            break
    await client.allocations.release(project, made.id)
    rest = []
    async for event in client.watch(project, subject=made.id, after=left_at, deadline=SETTLE):
        rest.append(event)
        if event.type.endswith("released"):
            break
    logged = [one.id async for one in client.events.list(project, after=begin, subject=made.id)]
    assert [one.id for one in (*first, *rest)] == logged, "each event once, in order, without a gap"


async def test_a_file_is_uploaded_checked_and_downloaded(client: AsyncClient, fleet: Sandbox, tmp_path: Path) -> None:
    project, source = fleet.project_id, tmp_path / "blob"
    source.write_bytes(secrets.token_bytes(3 << 20))
    intent = await client.publish_intents.create(project, "blob", "weights", size_bytes=source.stat().st_size)
    told: list[tuple[int, int]] = []
    await client.publish_intents.upload(intent, source, lambda sent, total: told.append((sent, total)))
    assert told[-1] == (3 << 20, 3 << 20)
    await client.publish_intents.complete(project, intent.id, digest_of(source))
    settled = await client.publish_intents.wait_until_checked(project, intent.id, SETTLE)
    assert settled.artifact_id is not None
    came = await client.artifacts.download(project, settled.artifact_id, tmp_path / "back")
    assert came == digest_of(source) == digest_of(tmp_path / "back")


async def test_parallel_calls_share_one_sign_in(fleet: Sandbox) -> None:
    kept: list[Token] = []
    who = fleet.credentials("project_viewer")
    async with AsyncClient(fleet.server.url, credentials=who, on_token=kept.append) as client:
        await asyncio.gather(*(client.me.show() for _ in range(10)))
    assert len(kept) == 1


async def test_a_refusal_is_the_same_exception(client: AsyncClient, fleet: Sandbox) -> None:
    with pytest.raises(CapacityRefused) as refused:
        await client.allocations.create(fleet.project_id, NewAllocation(sku="h100-node", gpu_count=8, count=50))
    assert refused.value.correlation_id


async def test_a_change_can_insist_on_the_generation_it_read(fleet: Sandbox) -> None:
    async with AsyncClient(fleet.server.url, credentials=fleet.credentials("tenant_admin")) as client:
        before = await client.projects.show(fleet.project_id)
        after = await client.projects.update(fleet.project_id, name="Renamed", generation=before.generation)
        assert after.generation > before.generation
        with pytest.raises(Conflict):
            await client.projects.update(fleet.project_id, name="Late", generation=before.generation)
        assert (await client.projects.show(fleet.project_id)).name == "Renamed"
