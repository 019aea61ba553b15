"""How a host downloads and unpacks artifacts: broken connections, other digests, and newer archives."""

import os
from pathlib import Path
from typing import Any

import pytest
from sdk_support.artifact_stores import Pull, archive, artifact, failing_store, https_platform, pull_from
from sdk_support.local_installer import ME, LocalInstaller, refused

from gpuaas_sdk.controller import Failed


async def test_a_host_downloads_the_artifact_itself_and_not_again(
    here: LocalInstaller, place: Path, store: dict[str, Any]
) -> None:
    program = artifact(store, b"#!/bin/sh\n")
    assert await here.put(str(place / "app/program"), program, owner=ME, mode=0o755)
    assert (place / "app/program").read_bytes() == b"#!/bin/sh\n"
    assert not await here.put(str(place / "app/program"), program, owner=ME, mode=0o755)
    assert len(store["seen"]) == 1


async def test_a_bucket_gets_no_secret_of_the_platform(
    here: LocalInstaller, place: Path, store: dict[str, Any]
) -> None:
    assert await here.put(str(place / "file"), artifact(store, b"bytes", url="/moved"), owner=ME)
    assert [shown is not None for _, shown in store["seen"]] == [True, False]


async def test_a_download_over_a_broken_connection_continues_where_it_broke(here: LocalInstaller, place: Path) -> None:
    content = os.urandom(5 << 20)
    with failing_store(content, 503, 2 << 20, 503, 1 << 20, 0) as (origin, firsts):
        assert await here.put(str(place / "weights"), pull_from(origin, content), owner=ME)
    assert (place / "weights").read_bytes() == content
    assert firsts == [0, 0, 2 << 20, 2 << 20, 3 << 20, 3 << 20]


async def test_a_store_that_stays_away_or_refuses_ends_the_download_and_leaves_nothing(
    here: LocalInstaller, place: Path
) -> None:
    content = os.urandom(3 << 20)
    with failing_store(content, 1 << 20, *[0] * 20) as (origin, _):
        away = here.put(str(place / "weights"), pull_from(origin, content), owner=ME)
        assert await refused(away) == "artifact_unreachable"
    with failing_store(content, 1 << 20, 403) as (origin, _):
        expired = here.put(str(place / "weights"), pull_from(origin, content), owner=ME)
        assert await refused(expired) == "artifact_refused"
    assert os.listdir(place) == []


async def test_the_platform_is_accepted_with_its_own_authority_alone(
    here: LocalInstaller, place: Path, store: dict[str, Any], tmp_path: Path
) -> None:
    """The store answers here in place of the bucket, over HTTP: what the platform trusts does not concern it."""
    with https_platform(tmp_path, f"{store['origin']}/bucket") as (origin, authority):
        pull = artifact(store, b"bytes").document
        usual: dict[str, object] = {**pull["pull"], "origins": [origin]}  # type: ignore[dict-item]
        trusted, stranger = Pull({**pull, "pull": {**usual, "trust": [authority]}}), Pull({**pull, "pull": usual})
        assert await refused(here.put(str(place / "file"), stranger, owner=ME)) == "artifact_unreachable"
        assert await here.put(str(place / "file"), trusted, owner=ME)
    assert store["seen"] == [("/bucket", None)]


async def test_bytes_with_another_digest_and_refusals_leave_nothing(
    here: LocalInstaller, place: Path, store: dict[str, Any]
) -> None:
    wrong = artifact(store, b"other bytes", "sha256:" + "0" * 64)
    assert await refused(here.put(str(place / "file"), wrong, owner=ME)) == "digest_mismatch"
    assert await refused(here.unpack(str(place / "folder"), wrong, owner=ME)) == "digest_mismatch"
    denied = artifact(store, b"bytes")
    pull: dict[str, object] = {**denied.document["pull"], "password": "hunter2"}  # type: ignore[dict-item]
    with pytest.raises(Failed) as failed:
        await here.put(str(place / "file"), Pull({**denied.document, "pull": pull}), owner=ME)
    assert failed.value.failure.code == "artifact_refused"
    assert "hunter2" not in str(failed.value)
    away = Pull({**denied.document, "pull": {**pull, "origins": ["http://127.0.0.1:1"]}})
    assert await refused(here.put(str(place / "file"), away, owner=ME)) == "artifact_unreachable"
    assert os.listdir(place) == []


async def test_an_archive_is_unpacked_whole_and_a_newer_one_replaces_it(
    here: LocalInstaller, place: Path, store: dict[str, Any]
) -> None:
    first = artifact(
        store, archive(("tool-1/bin/run", b"one"), ("tool-1/old", b""), ("tool-1/link", "bin/run"), mode=0o4755)
    )
    assert await here.unpack(str(place / "tool"), first, owner=ME, strip_folders=1)
    run = place / "tool/bin/run"
    assert (run.read_bytes(), run.stat().st_mode & 0o7777) == (b"one", 0o755)
    assert (place / "tool/link").read_bytes() == b"one"
    assert not await here.unpack(str(place / "tool"), first, owner=ME, strip_folders=1)
    second = artifact(store, archive(("tool-2/bin/run", b"two")))
    assert await here.unpack(str(place / "tool"), second, owner=ME, strip_folders=1)
    assert (run.read_bytes(), (place / "tool/old").exists()) == (b"two", False)
    await here.remove_all()
    assert os.listdir(place) == []
