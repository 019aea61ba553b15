"""What the installer of hosts and its callers refuse, code by code, with a systemd and an apt that do as told."""

import sys
from asyncio import create_subprocess_exec, wait_for
from asyncio.subprocess import PIPE
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from sdk_support.local_installer import ME, LocalInstaller, command_for, refused

from gpuaas_sdk.controller import Failed, PublishedArtifact, UsageCounters
from gpuaas_sdk.controller import host_installer as installer
from gpuaas_sdk.controller import usage as usage_module
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.errors import Conflict, Problem

UNITS = "/etc/systemd/system"
DIGEST = f"sha256:{'1' * 64}"


class HostOfTest(LocalInstaller):
    """The installer, whose unit files are in a folder of the test."""

    def __init__(self, folder: Path, first: str = "") -> None:
        super().__init__(folder / "records", first=first)
        self.units = folder / "units"
        self.units.mkdir(exist_ok=True)

    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        *words, text = command_for(self.records)
        assert UNITS in text
        text = self.first + text.replace(UNITS, str(self.units))
        child = await create_subprocess_exec(sys.executable, *words[1:], text, stdin=PIPE, stdout=PIPE)
        out, _ = await wait_for(child.communicate(f"{line}\n".encode()), timeout)
        return out.decode()


@pytest.fixture
def host(tmp_path: Path, programs: Path) -> HostOfTest:
    return HostOfTest(tmp_path)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose programs are found before those of this machine."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")
    return folder


def program(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


async def test_a_file_of_a_user_that_the_host_does_not_have_is_refused(host: HostOfTest, tmp_path: Path) -> None:
    path = tmp_path / "app" / "file"
    assert await refused(host.put(str(path), "text", owner="nobody-of-this-name")) == "user_missing"
    assert not path.exists()


async def test_what_is_too_large_for_a_message_is_refused_before_it_is_sent(
    host: HostOfTest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(installer, "MAX_CONTENT", 4)
    assert await refused(host.put(str(tmp_path / "app" / "file"), "large")) == "content_too_large"
    assert not host.records.exists()


async def test_a_folder_in_which_something_is_mounted_is_not_removed(tmp_path: Path, programs: Path) -> None:
    app, mounts = tmp_path / "app", tmp_path / "mounts"
    mounts.write_text(f"tmpfs {app}/data tmpfs rw 0 0\n")
    first = (
        f"import builtins\nreal, told = builtins.open, {{'/proc/self/mounts': {str(mounts)!r}}}\n"
        "builtins.open = lambda path, *more, **named: real(told.get(path, path), *more, **named)\n"
    )
    host = HostOfTest(tmp_path, first)
    await host.folder(str(app), owner=ME)
    (app / "kept").touch()
    assert await refused(host.remove_all()) == "path_mounted"
    assert (app / "kept").exists()
    mounts.write_text("")
    assert await host.remove_all() == [f"path {app}"]


async def test_a_unit_of_somebody_else_is_neither_replaced_nor_removed(host: HostOfTest, programs: Path) -> None:
    program(programs, "systemctl", "exit 0")
    (host.units / "web.service").write_text("theirs")
    assert await refused(host.unit("web.service", ["/bin/true"])) == "unit_taken"
    await host.remove_all()
    assert (host.units / "web.service").read_text() == "theirs"


@pytest.mark.parametrize(
    ("systemctl", "listens", "message"),
    [
        ('case "$1" in restart|is-active) exit 1 ;; esac', [], "does not start"),
        ('case "$1" in is-active) exit 3 ;; esac', [], "has ended"),
        ('[ "$1" != show ] || echo failed', [1], "is failed"),
        ('[ "$1" != show ] || echo active', [1], "does not listen on port 1"),
    ],
)
async def test_a_unit_that_does_not_run_is_told_with_its_log(
    host: HostOfTest, programs: Path, monkeypatch: pytest.MonkeyPatch, systemctl: str, listens: list[int], message: str
) -> None:
    monkeypatch.setattr(installer, "LISTEN_SECONDS", 0.2)
    program(programs, "systemctl", systemctl)
    program(programs, "journalctl", "echo no such model")
    with pytest.raises(Failed) as failed:
        await host.unit("web.service", ["/bin/true"], listens=listens)
    assert failed.value.failure.code == "unit_failed"
    assert f"web.service {message}: no such model" in failed.value.failure.message


async def test_packages_that_the_hosts_sources_do_not_have_are_named_and_can_be_tried_again(
    host: HostOfTest, programs: Path
) -> None:
    program(programs, "dpkg-query", "echo 'ii  bash'")
    program(
        programs, "apt-get", 'case "$*" in *simulate*) echo "E: Unable to locate package nothing" >&2; exit 100 ;; esac'
    )
    with pytest.raises(Failed) as failed:
        await host.package("nothing")
    assert (failed.value.failure.code, failed.value.failure.retryable) == ("package_failed", True)
    assert "Unable to locate package nothing" in failed.value.failure.message
    assert not await host.package("bash")


@pytest.mark.parametrize(("kind", "code"), [("oci", "not_a_blob"), ("blob", "not_an_image")])
async def test_an_image_is_not_downloaded_as_a_file_nor_a_file_pulled_as_an_image(kind: str, code: str) -> None:
    async def request_pull_secret(*_: object) -> object:
        return SimpleNamespace(kind=kind, digest=DIGEST)

    artifact = PublishedArtifact(cast("Lease", SimpleNamespace(request_pull_secret=request_pull_secret)))
    assert await refused(artifact.pull_document() if kind == "oci" else artifact.image_pull()) == code


async def test_an_operation_whose_counters_others_move_all_the_time_can_be_tried_again() -> None:
    async def report(**_: object) -> None:
        raise Conflict(Problem(code="stale_generation", status=409, detail="moved"))

    async def show(*_: object) -> object:
        return SimpleNamespace(runtime={})

    async def read(_: Mapping[str, object]) -> UsageCounters:
        return UsageCounters.read({"usage_counters": [["lines", "count", "prj_1", [["hub/1", 5, 10, 2, 3]]]]})

    async def report_usage(*_: object) -> object:
        return SimpleNamespace(recorded=1)

    api = SimpleNamespace(controller=SimpleNamespace(report_usage=report_usage), instances=SimpleNamespace(show=show))
    claimed = SimpleNamespace(instance=SimpleNamespace(id="ins_1", runtime=None))
    lease = cast("Lease", SimpleNamespace(api=api, project_id="prj_1", claimed=claimed, report=report))
    with pytest.raises(Failed) as failed:
        await usage_module.record_counters(lease, read)
    assert (failed.value.failure.code, failed.value.failure.retryable) == ("usage_not_recorded", True)
