"""Uploads in parts through the API: in any order, again, by two at once, interrupted, too many, too few, and abandoned."""

import asyncio
import errno
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.requests import ClientDisconnect

from gpuaas_server.artifacts import backends, directory_parts
from gpuaas_server.artifacts.directory_store import DirectoryStore
from gpuaas_server.artifacts.machine import LONGEST_UPLOAD, check_limit, parts_deadline
from gpuaas_server.artifacts.parts import LARGEST_REQUEST, MOST_PARTS, Layout, PartedUpload, part_bytes_for
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from tests_support.agents import MovableClock
from tests_support.artifacts import Json, Workshop, digest_of, workshop

PART = 64 << 10
CONTENT = os.urandom(4 * PART + 100)


@given(st.integers(1, 5 << 40))
def test_every_blob_has_few_enough_parts_that_a_bucket_takes(size: int) -> None:
    settings = Settings()
    part_bytes = part_bytes_for(settings, size)
    if part_bytes is None:
        assert size <= settings.upload_part_bytes
        return
    layout = Layout(size, part_bytes)
    assert 2 <= layout.count <= MOST_PARTS
    assert part_bytes <= LARGEST_REQUEST
    first, last = layout.part(1), layout.part(layout.count)
    assert first is not None
    assert last is not None
    assert (first.offset, last.offset + last.size_bytes) == (0, size)
    assert 0 < last.size_bytes <= part_bytes
    assert layout.part(0) is None
    assert layout.part(layout.count + 1) is None


@given(st.integers(1, 500), st.sets(st.integers(1, 60)))
def test_what_is_missing_and_what_has_arrived_are_all_parts(size: int, arrived: set[int]) -> None:
    layout = Layout(size, 10)
    received = {part.number: part.size_bytes for part in layout.parts(0, layout.count) if part.number in arrived}
    assert set(layout.missing(received)) == set(range(1, layout.count + 1)) - arrived
    assert sum(part.size_bytes for part in layout.parts(0, layout.count)) == size
    assert layout.missing(dict.fromkeys(range(1, layout.count + 1), 11)) == list(range(1, layout.count + 1))


def test_a_deadline_moves_with_the_upload_and_not_for_ever() -> None:
    clock = MovableClock()
    begun, grace = clock(), timedelta(hours=24)
    assert parts_deadline(begun, begun, grace) == begun + grace
    late = begun + LONGEST_UPLOAD - timedelta(hours=1)
    assert parts_deadline(begun, late, grace) == begun + LONGEST_UPLOAD
    assert check_limit(1 << 40) > check_limit(0) + timedelta(hours=9)


@pytest.fixture
async def shop(platform: Platform) -> AsyncIterator[Workshop]:
    platform.settings = platform.settings.model_copy(update={"upload_part_bytes": PART})
    async with workshop(platform) as opened:
        yield opened


def stored(settings: Settings) -> list[Path]:
    return [path for path in (settings.data_dir / "artifacts").rglob("*") if path.is_file()]


async def large(shop: Workshop, content: bytes = CONTENT, **more: object) -> Json:
    return await shop.intend(size_bytes=len(content), **more)


async def registered(shop: Workshop, intent: Json, content: bytes = CONTENT) -> Json:
    answer = await shop.complete(intent, digest_of(content))
    assert answer.status_code == 200, answer.text
    await shop.work()
    await shop.work()
    return await shop.intent(intent)


async def used_bytes(shop: Workshop) -> int:
    found = await shop.admin.get(f"{shop.path}/quota")
    return int(found["artifact_bytes_used"])


async def test_parts_come_in_any_order_and_again(shop: Workshop, settings: Settings) -> None:
    intent = await large(shop)
    listed = await shop.parts(intent)
    assert (intent["part_bytes"], listed["count"], len(listed["parts"])) == (PART, 5, 5)
    for part in [*reversed(listed["parts"]), listed["parts"][1], listed["parts"][4]]:
        assert (await shop.upload_part(part, CONTENT)).status_code == 200
    assert (await registered(shop, intent))["state"] == "registered"
    assert [path.read_bytes() for path in stored(settings)] == [CONTENT]


async def test_a_broken_upload_goes_on_with_the_missing_parts(shop: Workshop) -> None:
    intent = await large(shop, digest=digest_of(CONTENT))
    first, second, *rest = (await shop.parts(intent))["parts"]
    assert (await shop.upload_part(first, CONTENT)).status_code == 200

    async def cut_off() -> AsyncIterator[bytes]:
        yield CONTENT[PART : PART + 1000]
        raise ClientDisconnect  # as the server sees it

    with suppress(AssertionError):  # nobody is there to answer to
        await shop.upload_part(second, cut_off())
    found = await shop.admin.get(f"{shop.path}/publish-intents?digest={digest_of(CONTENT)}")
    assert [one["id"] for one in found["items"]] == [intent["id"]]
    again = (await shop.parts(intent))["parts"]
    assert [part["received"] for part in again] == [True, False, False, False, False]
    assert [part["upload"] is None for part in again] == [True, False, False, False, False]
    refused = await shop.complete(intent, digest_of(CONTENT))
    assert (refused.status_code, refused.json()["code"]) == (409, "upload_incomplete")
    assert refused.json()["details"] == {"missing": [2, 3, 4, 5], "count": 4}
    for part in (second, *rest):
        assert (await shop.upload_part(part, CONTENT)).status_code == 200
    assert (await registered(shop, intent))["state"] == "registered"


async def test_bytes_that_are_checked_are_not_written_any_more(tmp_path: Path) -> None:
    parts, layout, target = directory_parts.DirectoryParts(tmp_path / "parts"), Layout(2000, 1000), tmp_path / "blob"
    parts.begin()
    first, second = layout.parts(0, 2)
    joined: list[str] = []

    async def sent(content: bytes, *, join: bool) -> AsyncIterator[bytes]:
        if join:
            with pytest.raises(Problem) as refused:
                parts.join(layout, target)
            joined.append(refused.value.code)
        yield content

    await parts.write(first, sent(b"a" * 1000, join=False))
    await parts.write(second, sent(b"b" * 1000, join=False))
    await parts.write(first, sent(b"c" * 1000, join=True))
    assert joined == ["upload_in_progress"], "nobody joins while a part is sent again"
    assert parts.join(layout, target)
    with pytest.raises(Problem) as late:
        await parts.write(first, sent(b"d" * 1000, join=False))
    assert late.value.code == "conflict"
    assert target.read_bytes() == b"c" * 1000 + b"b" * 1000


async def test_a_part_that_is_sent_again_while_the_parts_are_joined_is_waited_for(shop: Workshop) -> None:
    intent = await large(shop)
    for part in (await shop.parts(intent))["parts"]:
        assert (await shop.upload_part(part, CONTENT)).status_code == 200
    assert (await shop.complete(intent, digest_of(CONTENT))).status_code == 200
    first, go_on = Layout(len(CONTENT), PART).part(1), asyncio.Event()
    assert first is not None

    async def slowly() -> AsyncIterator[bytes]:
        yield CONTENT[:1000]
        await go_on.wait()
        yield CONTENT[1000:PART]

    store = backends.blob_store(shop.platform.settings)
    assert isinstance(store, DirectoryStore)
    upload = PartedUpload(shop.project_id, intent["id"], intent["id"], Layout(len(CONTENT), PART))
    sending = asyncio.create_task(store.write_part(upload, first, slowly()))
    await asyncio.sleep(0)
    await shop.work()
    waiting = await shop.intent(intent)
    assert (waiting["state"], waiting["failure"]["code"]) == ("verifying", "upload_in_progress")
    go_on.set()
    await sending
    shop.platform.clock = clock = MovableClock()
    clock.ahead = timedelta(seconds=10)
    await shop.work()
    assert (await shop.intent(intent))["state"] == "registered"


async def test_a_part_of_another_size_does_not_count(shop: Workshop) -> None:
    intent = await large(shop)
    first = (await shop.parts(intent))["parts"][0]
    for content in (CONTENT[:10], CONTENT[: PART + 1], b""):
        answer = await shop.upload({"upload": first["upload"]}, content)
        assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request"), content[:10]
    assert not any(part["received"] for part in (await shop.parts(intent))["parts"])


async def test_two_clients_send_different_parts_but_not_the_same(shop: Workshop) -> None:
    intent = await large(shop)
    first, second, *rest = (await shop.parts(intent))["parts"]
    answers: list[httpx.Response] = []

    async def slowly() -> AsyncIterator[bytes]:
        yield CONTENT[:1000]
        answers.append(await shop.upload_part(first, bytes(len(CONTENT))))
        answers.append(await shop.upload_part(second, CONTENT))
        yield CONTENT[1000:PART]

    assert (await shop.upload_part(first, slowly())).status_code == 200
    assert [answer.status_code for answer in answers] == [409, 200]
    assert answers[0].json()["code"] == "upload_in_progress"
    for part in rest:
        await shop.upload_part(part, CONTENT)
    assert (await registered(shop, intent))["state"] == "registered"


async def test_other_bytes_than_the_digest_fail_and_leave_nothing(shop: Workshop, settings: Settings) -> None:
    intent = await large(shop)
    for part in (await shop.parts(intent))["parts"]:
        await shop.upload_part(part, bytes(len(CONTENT)))
    ended = await registered(shop, intent)
    assert (ended["state"], ended["failure"]["code"]) == ("failed", "digest_mismatch")
    assert (stored(settings), await used_bytes(shop)) == ([], 0)


async def test_an_announced_digest_is_kept_and_known_bytes_are_refused_at_once(shop: Workshop) -> None:
    intent = await large(shop, digest=digest_of(CONTENT))
    for part in (await shop.parts(intent))["parts"]:
        await shop.upload_part(part, CONTENT)
    other = await shop.complete(intent, digest_of(b"other"))
    assert (other.status_code, other.json()["code"]) == (409, "digest_mismatch")
    assert (await registered(shop, intent))["state"] == "registered"
    body = {"kind": "blob", "name": "again", "size_bytes": len(CONTENT), "digest": digest_of(CONTENT)}
    answer = await shop.admin.call("POST", f"{shop.path}/publish-intents", body)
    assert (answer.status_code, answer.json()["code"]) == (409, "already_exists")
    answer = await shop.admin.call("POST", f"{shop.path}/publish-intents", {**body, "kind": "oci"})
    assert answer.json()["code"] in ("invalid_request", "registry_not_configured")


async def test_an_unfinished_upload_counts_until_its_parts_are_removed(shop: Workshop, settings: Settings) -> None:
    clock = MovableClock()
    shop.platform.clock = clock
    intent = await large(shop)
    first = (await shop.parts(intent))["parts"][0]
    await shop.upload_part(first, CONTENT)
    assert await used_bytes(shop) == len(CONTENT)
    grace = timedelta(hours=settings.upload_grace_hours)
    clock.ahead = grace + timedelta(seconds=1)
    await shop.work()
    await shop.work()
    clock.ahead = timedelta()
    ended = await shop.intent(intent)
    assert (ended["state"], ended["failure"]["code"]) == ("expired", "publish_expired")
    assert (stored(settings), await used_bytes(shop)) == ([], 0)
    assert not (settings.data_dir / "artifacts/uploads" / shop.project_id / f"{intent['id']}.parts").exists()


async def test_whoever_asks_for_parts_has_more_time(shop: Workshop, settings: Settings) -> None:
    intent = await large(shop)
    clock = MovableClock()
    clock.ahead = timedelta(minutes=10)
    before = intent["deadline_at"]
    shop.platform.clock = clock
    after = (await shop.parts(intent))["deadline_at"]
    assert after > before
    assert (await shop.intent(intent))["deadline_at"] == after


async def test_a_cancelled_upload_leaves_nothing_and_takes_no_more_parts(shop: Workshop, settings: Settings) -> None:
    intent = await large(shop)
    first, second, *_ = (await shop.parts(intent))["parts"]
    await shop.upload_part(first, CONTENT)
    await shop.admin.post(f"{shop.path}/publish-intents/{intent['id']}/cancel", {})
    await shop.work()
    assert stored(settings) == []
    assert (await shop.upload_part(second, CONTENT)).json()["code"] == "conflict"
    answer = await shop.admin.call("POST", f"{shop.path}/publish-intents/{intent['id']}/parts", {})
    assert answer.json()["code"] == "conflict"
    assert stored(settings) == []


async def test_a_full_disk_is_said_and_the_upload_goes_on_afterwards(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    intent = await large(shop)
    first, *rest = (await shop.parts(intent))["parts"]

    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(directory_parts, "_write_at", no_space)
        answer = await shop.upload_part(first, CONTENT)
    assert (answer.status_code, answer.json()["code"]) == (503, "storage_unavailable")
    assert "full" in answer.json()["detail"]
    for part in (first, *rest):
        assert (await shop.upload_part(part, CONTENT)).status_code == 200
    assert (await registered(shop, intent))["state"] == "registered"


async def test_a_small_blob_and_one_of_unknown_size_have_no_parts(shop: Workshop) -> None:
    for intent in (await shop.intend(size_bytes=PART), await shop.intend()):
        assert intent["part_bytes"] is None
        answer = await shop.admin.call("POST", f"{shop.path}/publish-intents/{intent['id']}/parts", {})
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict")


async def test_a_client_that_knows_no_parts_sends_the_blob_as_a_whole(shop: Workshop) -> None:
    intent = await large(shop)
    assert (await shop.upload(intent, CONTENT)).status_code == 200
    assert (await registered(shop, intent))["state"] == "registered"


async def test_a_download_continues_after_the_bytes_that_came(shop: Workshop) -> None:
    artifact = await shop.publish_blob(CONTENT)
    path = f"{shop.path}/artifacts/{artifact['id']}/content"
    headers = {"Authorization": f"Bearer {shop.admin.token}", "Range": "bytes=1000-"}
    rest = await shop.site.client.get(path, headers=headers)
    assert (rest.status_code, rest.content) == (206, CONTENT[1000:])
    assert rest.headers["content-range"] == f"bytes 1000-{len(CONTENT) - 1}/{len(CONTENT)}"
    for wanted in ("bytes=99999999-", "bytes=5-9", "pages=1-"):
        whole = await shop.site.client.get(path, headers={**headers, "Range": wanted})
        assert (whole.status_code, whole.content) == (200, CONTENT)
