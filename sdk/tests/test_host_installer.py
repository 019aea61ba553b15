"""What `host.put` and its relatives do: the real programs with this machine's Python."""

import asyncio
import os
from pathlib import Path
from typing import Any

import pytest
from sdk_support.local_installer import ME, LocalInstaller, refused

from gpuaas_sdk.controller.units import unit_text
from gpuaas_sdk.testing import RecordedHost


async def test_a_file_is_written_once_corrected_and_removed_with_the_folders_that_it_needed(
    here: LocalInstaller, place: Path, tmp_path: Path
) -> None:
    path, content = place / "app/conf/data", bytes(range(256))
    assert await here.put(str(path), content, owner=ME, mode=0o640)
    assert (path.read_bytes(), path.stat().st_mode & 0o7777) == (content, 0o640)
    assert not await here.put(str(path), content, owner=ME, mode=0o640)
    path.chmod(0o666)
    assert await here.put(str(path), content, owner=ME, mode=0o640)
    source = tmp_path / "source"
    source.write_text("text of a file")
    assert await here.put(str(path), source, owner=ME)
    assert path.read_text() == "text of a file"
    assert await here.remove_all() == [f"path {place / 'app'}"]
    assert (os.listdir(place), here.records.exists()) == ([], False)
    assert await here.remove_all() == []


async def test_what_was_there_before_is_neither_replaced_nor_removed(here: LocalInstaller, place: Path) -> None:
    (place / "hosts").write_text("before")
    (place / "link").symlink_to(place / "hosts")
    for name in ("hosts", "link"):
        assert await refused(here.put(str(place / name), "after", owner=ME)) == "path_taken"
    assert await refused(here.folder(str(place / "hosts"), owner=ME)) == "path_taken"
    other = LocalInstaller(here.records, "ins_two")
    await other.put(str(place / "theirs"), "text", owner=ME)
    assert await refused(here.put(str(place / "theirs"), "mine", owner=ME)) == "path_taken"
    await here.put(str(place / "mine"), "text", owner=ME)
    await here.remove_all()
    assert (sorted(os.listdir(place)), (place / "hosts").read_text()) == (["hosts", "link", "theirs"], "before")
    await other.remove_all()
    assert not here.records.exists()


async def test_removal_follows_no_link_out_of_a_folder(here: LocalInstaller, place: Path) -> None:
    (place / "precious").mkdir()
    (place / "precious/file").touch()
    await here.folder(str(place / "app"), owner=ME)
    (place / "app/link").symlink_to(place / "precious")
    await here.remove_all()
    assert os.listdir(place / "precious") == ["file"]


@pytest.mark.parametrize("path", ["relative", "/", "/etc", "/etc/../root/x", "/etc//x", "/etc/x/", "/etc/a\nb"])
async def test_a_path_that_is_not_straight_reaches_no_host(here: LocalInstaller, path: str) -> None:
    with pytest.raises(ValueError, match="is not an absolute path"):
        await here.put(path, "text")
    with pytest.raises(ValueError, match="is not an absolute path"):
        await here.folder(path)


@pytest.mark.parametrize("name", ["-o", "a b", "A", "../x", "x;id", ""])
async def test_names_that_a_program_could_read_as_something_else_reach_no_host(here: LocalInstaller, name: str) -> None:
    with pytest.raises(ValueError, match="is not the name of a user"):
        await here.user(name)
    with pytest.raises(ValueError, match="is not the name of a package"):
        await here.package(name)
    with pytest.raises(ValueError, match="is not the name of a service"):
        await here.unit(name, ["/bin/true"])


def test_a_unit_gets_every_word_as_it_is() -> None:
    words = ["/bin/echo", 'a "b" \\ $HOME %h', ""]
    text = unit_text(words, user="echo", description="50 %", environment={"A": 'x "y" $z'}, settings={"Nice": "5"})
    assert 'ExecStart="/bin/echo" "a \\"b\\" \\\\ $$HOME %%h" ""\n' in text
    assert 'Environment="A=x \\"y\\" $z"\n' in text
    assert "Description=50 %%\n" in text
    assert "Nice=5\n" in text


@pytest.mark.parametrize(
    "changed",
    [{"command": ["/bin/true", "a\nExecStartPost=/bin/id"]}, {"user": "root\nNice=1"}, {"environment": {"A=B C": "x"}},
     {"settings": {"Nice": "1\nUser=root"}}, {"settings": {"User=root\nNice": "1"}}, {"description": "a\nb"},
     {"command": ["true"]}, {"command": []}],
)  # fmt: skip
def test_no_input_adds_a_line_to_a_unit(changed: dict[str, Any]) -> None:
    usual: dict[str, Any] = {
        "command": ["/bin/true"],
        "user": "a",
        "description": "",
        "environment": {},
        "settings": {},
    }
    usual |= changed
    with pytest.raises(ValueError):
        unit_text(usual.pop("command"), **usual)


async def test_the_footprint_is_derived_from_what_is_installed() -> None:
    host = RecordedHost()
    for name, port in (("notes-hub", 7007), ("notes-relay", 7008), ("notes-hub", 7007)):
        await host.user("notes")
        await host.folder("/etc/notes.d")
        await host.put("/etc/notes.d/relay/conf", "text")
        await host.put("/etc/notes.dir", "text")
        await host.unpack("/opt/notes", host.artifact)
        await host.package("curl")
        await host.unit(f"{name}.service", ["/opt/notes/run"], user="notes", listens=[port])
    footprint = host.installed.footprint()
    assert footprint == {
        "units": ["notes-hub.service", "notes-relay.service"],
        "ports": [{"port": 7007}, {"port": 7008}],
        "paths": ["/etc/notes.d", "/etc/notes.dir", "/opt/notes"],
        "users": ["notes"],
    }
    assert host.installed.missing_in({"footprint": footprint}) == []
    assert RecordedHost().installed.footprint() == {}


async def test_requests_at_the_same_time_lose_no_record(here: LocalInstaller, place: Path) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(here.put(str(place / f"file-{number}"), "text", owner=ME))
    assert len(await here.remove_all()) == 6
    assert os.listdir(place) == []
