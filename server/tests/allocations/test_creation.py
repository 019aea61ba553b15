"""Creating an allocation: two round trips, one answer for a repeated request, and the same with psycopg's own pipeline."""

from collections.abc import AsyncIterator

import pytest
from psycopg.abc import PQGen
from psycopg.pq.abc import PGconn

from gpuaas_server.kernel import pipeline
from gpuaas_server.kernel.context import Platform
from tests_support import agents
from tests_support.agents import Json
from tests_support.allocation_story import Story
from tests_support.capacity_checks import assert_consistent

ASKED = {"sku": "whole"}


@pytest.fixture
async def story(platform: Platform) -> AsyncIterator[Story]:
    async with agents.opened(platform) as site:
        yield await Story.begin(site)


async def create(story: Story, body: Json, key: str) -> tuple[int, Json, bool]:
    """Status, answer, and whether it is the answer to an earlier request."""
    headers = {"Authorization": f"Bearer {story.site.admin.token}", "Idempotency-Key": key}
    answer = await story.site.client.post(f"/projects/{story.project}/allocations", json=body, headers=headers)
    return answer.status_code, answer.json(), answer.headers.get("Idempotent-Replayed") == "true"


async def test_a_creation_is_two_round_trips(story: Story, monkeypatch: pytest.MonkeyPatch) -> None:
    """One for the answers about the key, the SKU and what is free, and one for everything that is written."""
    trips = []
    real = pipeline.send

    def send(connection: PGconn) -> PQGen[None]:
        trips.append(connection)
        return real(connection)

    monkeypatch.setattr(pipeline, "send", send)
    status, _, _ = await create(story, ASKED, "first-key")
    assert (status, len(trips)) == (201, 2)


@pytest.mark.usefixtures("either_pipeline")
async def test_a_repeated_creation_gets_the_first_answer_and_claims_nothing(story: Story) -> None:
    status, made, replayed = await create(story, ASKED, "first-key")
    assert (status, replayed) == (201, False)
    assert await create(story, ASKED, "first-key") == (201, made, True)
    assert [status for status, _ in await story.slots()] == ["claimed", "claimed"]
    await assert_consistent(story.site.platform)


@pytest.mark.usefixtures("either_pipeline")
async def test_a_refused_creation_leaves_nothing_and_is_refused_again(story: Story) -> None:
    await create(story, ASKED, "first-key")
    status, problem, _ = await create(story, ASKED, "second-key")
    assert (status, problem["code"]) == (409, "no_capacity")
    again = await create(story, ASKED, "second-key")
    assert (again[0], again[1]["code"], again[2]) == (409, "no_capacity", True)
    unknown = await create(story, {"sku": "none"}, "third-key")
    assert unknown[1]["code"] == "sku_not_offered"
    await assert_consistent(story.site.platform)
