"""Quotas of artifacts: counted from the intent on, never overshot, one upload per intent, and given back."""

import asyncio
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest

from gpuaas_server.artifacts import uploads
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from tests_support.agents import MovableClock
from tests_support.artifacts import Json, Workshop, digest_of

CONTENT = b"0123456789" * 1000


def stored(settings: Settings) -> list[Path]:
    return [path for path in (settings.data_dir / "artifacts").rglob("*") if path.is_file()]


async def used(shop: Workshop) -> list[tuple[int, int]]:
    """(artifacts, bytes) of the project and of the tenant."""
    scopes = (shop.path, f"/tenants/{shop.tenant_id}")
    quotas = [await shop.admin.get(f"{scope}/quota") for scope in scopes]
    return [(quota["artifacts_used"], quota["artifact_bytes_used"]) for quota in quotas]


async def limit(shop: Workshop, scope: str, **limits: int) -> None:
    answer = await shop.admin.call("PUT", f"{scope}/quota", {"gpu_limit": None, **limits})
    assert answer.status_code == 200, answer.text


async def ask(shop: Workshop, **more: object) -> httpx.Response:
    body = {"kind": "blob", "name": "tool", **more}
    return await shop.admin.call("POST", f"{shop.path}/publish-intents", body)


async def send(shop: Workshop, intent: Json, content: object) -> httpx.Response:
    headers = {"Authorization": f"Bearer {shop.admin.token}", "Content-Type": "application/octet-stream"}
    path = f"{shop.path}/publish-intents/{intent['id']}/content"
    return await shop.site.client.request("PUT", path, content=content, headers=headers)  # type: ignore[arg-type]


async def test_an_artifact_counts_from_its_intent_to_its_deletion(shop: Workshop) -> None:
    intent = await shop.intend(size_bytes=len(CONTENT))
    assert await used(shop) == [(1, len(CONTENT))] * 2
    await shop.upload(intent, CONTENT)
    await shop.complete(intent, digest_of(CONTENT))
    await shop.work()
    await shop.work()
    artifact_id = (await shop.intent(intent))["artifact_id"]
    assert await used(shop) == [(1, len(CONTENT))] * 2
    assert (await shop.admin.call("DELETE", f"{shop.path}/artifacts/{artifact_id}")).status_code == 202
    await shop.work()
    assert await used(shop) == [(0, 0)] * 2


async def test_bytes_that_nobody_announced_count_as_they_are(shop: Workshop) -> None:
    intent = await shop.intend()
    assert await used(shop) == [(1, 0)] * 2
    await shop.upload(intent, CONTENT)
    assert await used(shop) == [(1, len(CONTENT))] * 2


async def test_an_intent_that_comes_to_nothing_gives_everything_back(shop: Workshop) -> None:
    cancelled = await shop.intend(size_bytes=500)
    await shop.admin.post(f"{shop.path}/publish-intents/{cancelled['id']}/cancel", {})
    wrong = await shop.intend(size_bytes=len(CONTENT))
    await shop.upload(wrong, CONTENT)
    await shop.complete(wrong, digest_of(b"something else"))
    await shop.work()
    assert await used(shop) == [(0, 0)] * 2


async def test_a_second_artifact_with_the_same_digest_counts_once(shop: Workshop) -> None:
    await shop.publish_blob(CONTENT)
    again = await shop.intend()
    await shop.upload(again, CONTENT)
    await shop.complete(again, digest_of(CONTENT))
    await shop.work()
    assert (await shop.intent(again))["failure"]["code"] == "already_exists"
    assert await used(shop) == [(1, len(CONTENT))] * 2


@pytest.mark.parametrize(
    ("limits", "quota", "most"),
    [({"artifact_limit": 1}, "artifacts", 1), ({"artifact_byte_limit": 1000}, "artifact_bytes", 1000)],
)
async def test_a_refusal_says_which_quota_whose_and_who_can_raise_it(
    shop: Workshop, limits: dict[str, int], quota: str, most: int
) -> None:
    for scope, path, raised_by in (
        ("tenant", f"/tenants/{shop.tenant_id}", "platform_admin"),
        ("project", shop.path, "tenant_admin"),
    ):
        await limit(shop, path, **limits)
        if scope == "tenant":
            await shop.intend(size_bytes=800)
        problem = (await ask(shop, size_bytes=800)).json()
        assert problem["code"] == "quota_exceeded"
        found = problem["details"]
        assert {name: found[name] for name in ("quota", "limit", "raised_by")} == {
            "quota": quota,
            "limit": most,
            "raised_by": "platform_admin" if scope == "tenant" else raised_by,
        }
        assert found["used"] == (1 if quota == "artifacts" else 800)


async def test_concurrent_intents_cannot_overshoot(shop: Workshop) -> None:
    await limit(shop, f"/tenants/{shop.tenant_id}", artifact_byte_limit=2500)
    answers = await asyncio.gather(*(ask(shop, size_bytes=1000) for _ in range(8)))
    assert sorted(answer.status_code for answer in answers) == [201, 201] + [409] * 6
    assert await used(shop) == [(2, 2000)] * 2


async def test_an_upload_stops_where_the_quota_ends_and_leaves_nothing(shop: Workshop, settings: Settings) -> None:
    await limit(shop, f"/tenants/{shop.tenant_id}", artifact_byte_limit=3 << 20)
    intent = await shop.intend()

    async def endless() -> AsyncIterator[bytes]:
        for _ in range(64):
            yield bytes(1 << 20)

    answer = await send(shop, intent, endless())
    assert (answer.status_code, answer.json()["code"]) == (409, "quota_exceeded")
    assert await used(shop) == [(1, 0)] * 2
    assert stored(settings) == []


async def test_a_second_upload_to_an_intent_is_refused_while_the_first_is_under_way(shop: Workshop) -> None:
    intent = await shop.intend()
    refused: list[httpx.Response] = []

    async def slowly() -> AsyncIterator[bytes]:
        yield CONTENT
        refused.append(await send(shop, intent, CONTENT))

    assert (await send(shop, intent, slowly())).status_code == 200
    assert [(one.status_code, one.json()["code"]) for one in refused] == [(409, "upload_in_progress")]
    assert (await send(shop, intent, CONTENT)).status_code == 200


async def test_an_upload_whose_process_is_gone_lapses_and_its_parts_go(shop: Workshop, settings: Settings) -> None:
    clock = MovableClock()
    shop.platform.clock = clock
    intent = await shop.intend()
    upload = uploads.Upload(shop.platform, PLATFORM, system_actor("test"), shop.project_id, intent["id"])
    await upload._begin(700)
    folder = settings.data_dir / "artifacts/uploads" / shop.project_id
    folder.mkdir(parents=True, exist_ok=True)
    left = folder / f".{intent['id']}.abc"
    left.write_bytes(b"half")
    assert (await send(shop, intent, CONTENT)).json()["code"] == "upload_in_progress"
    clock.ahead = uploads.LEASE + timedelta(seconds=1)
    assert (await send(shop, intent, CONTENT)).status_code == 200
    assert left not in stored(settings)
    assert await used(shop) == [(1, len(CONTENT))] * 2


async def test_a_project_runs_few_uploads_at_once(shop: Workshop) -> None:
    shop.platform.settings = shop.platform.settings.model_copy(update={"uploads_per_project": 1})
    first, second = await shop.intend(), await shop.intend()
    answers: list[httpx.Response] = []

    async def slowly() -> AsyncIterator[bytes]:
        yield CONTENT
        answers.append(await send(shop, second, CONTENT))

    assert (await send(shop, first, slowly())).status_code == 200
    assert [one.json()["code"] for one in answers] == ["too_many_uploads"]
    assert (await send(shop, second, CONTENT)).status_code == 200


async def test_a_project_has_no_larger_limit_than_its_tenant(shop: Workshop) -> None:
    await limit(shop, f"/tenants/{shop.tenant_id}", artifact_byte_limit=1000)
    answer = await shop.admin.call("PUT", f"{shop.path}/quota", {"gpu_limit": None, "artifact_byte_limit": 1001})
    assert (answer.status_code, answer.json()["code"]) == (409, "quota_beyond_tenant")


async def test_limits_that_are_not_said_stay_and_a_tenant_without_has_the_default(shop: Workshop) -> None:
    await limit(shop, f"/tenants/{shop.tenant_id}", artifact_limit=7)
    await limit(shop, f"/tenants/{shop.tenant_id}", unproven_gpu_limit=3)
    quota = await shop.admin.get(f"/tenants/{shop.tenant_id}/quota")
    assert (quota["artifact_limit"], quota["unproven_gpu_limit"]) == (7, 3)
    assert quota["artifact_byte_limit"] == shop.platform.settings.quota_artifact_bytes
    assert (await shop.admin.get(f"{shop.path}/quota"))["artifact_byte_limit"] is None
