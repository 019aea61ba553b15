"""What `host.put` and its relatives do: the real programs with this machine's Python, killed at every line, and run again."""

import asyncio
import base64
import hashlib
import io
import json
import os
import ssl
import subprocess
import sys
import tarfile
import threading
from asyncio.subprocess import PIPE
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from gpuaas_sdk.controller import Failed, PublishedArtifact
from gpuaas_sdk.controller.host_installer import HostInstaller
from gpuaas_sdk.controller.hostside import installer_command
from gpuaas_sdk.controller.units import unit_text

ME = __import__("pwd").getpwuid(os.getuid()).pw_name
RECORDS = "/var/lib/gpuaas-apps"


def command_for(records: Path) -> list[str]:
    """The installer as hosts run it, with its records in a folder of the test."""
    *words, text = installer_command()
    assert RECORDS in text
    return [sys.executable, *words[1:], text.replace(RECORDS, str(records))]


class Here(HostInstaller):
    """A host that is this machine."""

    def __init__(self, records: Path, instance_id: str = "ins_one") -> None:
        super().__init__("here", {"GPUAAS_INSTANCE": instance_id})
        self.records = records

    async def request(self, argv: Sequence[str], line: str, *, timeout: float) -> str:
        child = await asyncio.create_subprocess_exec(*command_for(self.records), stdin=PIPE, stdout=PIPE)
        out, _ = await asyncio.wait_for(child.communicate(f"{line}\n".encode()), timeout)
        return out.decode()


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "etc").mkdir()
    return tmp_path / "etc"


@pytest.fixture
def here(tmp_path: Path) -> Here:
    return Here(tmp_path / "records")


async def refused(call: Any) -> str:
    with pytest.raises(Failed) as failed:
        await call
    return failed.value.failure.code


async def test_a_file_is_written_once_corrected_and_removed_with_the_folders_that_it_needed(
    here: Here, place: Path, tmp_path: Path
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


async def test_what_was_there_before_is_neither_replaced_nor_removed(here: Here, place: Path) -> None:
    (place / "hosts").write_text("before")
    (place / "link").symlink_to(place / "hosts")
    for name in ("hosts", "link"):
        assert await refused(here.put(str(place / name), "after", owner=ME)) == "path_taken"
    assert await refused(here.folder(str(place / "hosts"), owner=ME)) == "path_taken"
    other = Here(here.records, "ins_two")
    await other.put(str(place / "theirs"), "text", owner=ME)
    assert await refused(here.put(str(place / "theirs"), "mine", owner=ME)) == "path_taken"
    await here.put(str(place / "mine"), "text", owner=ME)
    await here.remove_all()
    assert (sorted(os.listdir(place)), (place / "hosts").read_text()) == (["hosts", "link", "theirs"], "before")
    await other.remove_all()
    assert not here.records.exists()


async def test_removal_follows_no_link_out_of_a_folder(here: Here, place: Path) -> None:
    (place / "precious").mkdir()
    (place / "precious/file").touch()
    await here.folder(str(place / "app"), owner=ME)
    (place / "app/link").symlink_to(place / "precious")
    await here.remove_all()
    assert os.listdir(place / "precious") == ["file"]


@pytest.mark.parametrize("path", ["relative", "/", "/etc", "/etc/../root/x", "/etc//x", "/etc/x/", "/etc/a\nb"])
async def test_a_path_that_is_not_straight_reaches_no_host(here: Here, path: str) -> None:
    with pytest.raises(ValueError, match="is not an absolute path"):
        await here.put(path, "text")
    with pytest.raises(ValueError, match="is not an absolute path"):
        await here.folder(path)


@pytest.mark.parametrize("name", ["-o", "a b", "A", "../x", "x;id", ""])
async def test_names_that_a_program_could_read_as_something_else_reach_no_host(here: Here, name: str) -> None:
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


class Pull(PublishedArtifact):
    """The artifact of an operation whose pull secret is already there."""

    def __init__(self, document: dict[str, object]) -> None:
        self.document = document

    async def pull_document(self) -> dict[str, object]:
        return self.document


@pytest.fixture
def store() -> Iterator[dict[str, Any]]:
    """A platform that gives bytes to whoever shows the secret, and redirects /moved to another server's /bucket."""
    state: dict[str, Any] = {"seen": []}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown = self.headers.get("Authorization")
            state["seen"].append((self.path, shown))
            if self.path == "/moved":
                self.send_response(307)
                self.send_header("Location", f"{state['origin'].replace('127.0.0.1', 'localhost')}/bucket")
            else:
                known = self.path == "/bucket" or shown == f"Basic {base64.b64encode(b'rts:pw').decode()}"
                self.send_response(200 if known else 401)
            body = state.get("content", b"") if self.path != "/moved" else b""
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state["origin"] = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def artifact(store: dict[str, Any], content: bytes, digest: str | None = None, url: str = "/pull") -> Pull:
    store["content"] = content
    pull = {"origins": ["http://127.0.0.1:1", store["origin"]], "trust": [], "url": url, "username": "rts"}
    named = digest or f"sha256:{hashlib.sha256(content).hexdigest()}"
    return Pull({"digest": named, "pull": pull | {"password": "pw"}})


def archive(*entries: tuple[str, bytes | str], kind: bytes = tarfile.REGTYPE, mode: int = 0o755) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as file:
        for name, content in entries:
            info = tarfile.TarInfo(name)
            info.mode, info.type = mode, tarfile.SYMTYPE if isinstance(content, str) else kind
            info.linkname = content if isinstance(content, str) else ""
            info.size = len(content) if isinstance(content, bytes) and kind == tarfile.REGTYPE else 0
            file.addfile(info, io.BytesIO(content) if isinstance(content, bytes) else None)
    return buffer.getvalue()


async def test_a_host_downloads_the_artifact_itself_and_not_again(
    here: Here, place: Path, store: dict[str, Any]
) -> None:
    program = artifact(store, b"#!/bin/sh\n")
    assert await here.put(str(place / "app/program"), program, owner=ME, mode=0o755)
    assert (place / "app/program").read_bytes() == b"#!/bin/sh\n"
    assert not await here.put(str(place / "app/program"), program, owner=ME, mode=0o755)
    assert len(store["seen"]) == 1


async def test_a_bucket_gets_no_secret_of_the_platform(here: Here, place: Path, store: dict[str, Any]) -> None:
    assert await here.put(str(place / "file"), artifact(store, b"bytes", url="/moved"), owner=ME)
    assert [shown is not None for _, shown in store["seen"]] == [True, False]


async def test_the_platform_is_accepted_with_its_own_authority_alone(
    here: Here, place: Path, store: dict[str, Any], tmp_path: Path
) -> None:
    """The store answers here in place of the bucket, over HTTP: what the platform trusts does not concern it."""
    with https_platform(tmp_path, f"{store['origin']}/bucket") as (origin, authority):
        pull = artifact(store, b"bytes").document
        usual: dict[str, object] = {**pull["pull"], "origins": [origin]}  # type: ignore[dict-item]
        trusted, stranger = Pull({**pull, "pull": {**usual, "trust": [authority]}}), Pull({**pull, "pull": usual})
        assert await refused(here.put(str(place / "file"), stranger, owner=ME)) == "artifact_unreachable"
        assert await here.put(str(place / "file"), trusted, owner=ME)
    assert store["seen"] == [("/bucket", None)]


@contextmanager
def https_platform(folder: Path, redirect: str) -> Iterator[tuple[str, str]]:
    """A platform with a certificate of its own authority, which redirects every request. Returns its origin and authority."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(307)
            self.send_header("Location", redirect)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "1"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "certificate.pem")]
    name = ["-subj", "/CN=platform", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*words, *files, *name], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "certificate.pem", folder / "key.pem")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_port}", (folder / "certificate.pem").read_text()
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_bytes_with_another_digest_and_refusals_leave_nothing(
    here: Here, place: Path, store: dict[str, Any]
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
    here: Here, place: Path, store: dict[str, Any]
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


@pytest.mark.parametrize(
    "content",
    [archive(("../out", b"x")), archive(("a/../../out", b"x")), archive(("link", "/etc/passwd")),
     archive(("link", ".."), ("link/out", b"x")), archive(("pipe", b""), kind=tarfile.FIFOTYPE),
     archive(("device", b""), kind=tarfile.CHRTYPE)],
    ids=["parent", "parent-below", "link", "link-used", "pipe", "device"],  # the bytes differ: they hold the time
)  # fmt: skip
async def test_an_archive_that_leads_out_or_holds_devices_is_refused_whole(
    here: Here, place: Path, store: dict[str, Any], content: bytes
) -> None:
    assert await refused(here.unpack(str(place / "in/tool"), artifact(store, content), owner=ME)) == "archive_unsafe"
    assert os.listdir(place / "in") == []
    assert (
        await refused(here.unpack(str(place / "in/tool"), artifact(store, b"no archive"), owner=ME))
        == "archive_invalid"
    )


# Runs a request again and again, each time killed one line later than before, until it survives; then once more.
KILLED_AT_EACH_LINE = """
import os, sys
text, line, undo = sys.argv[1:]
space = {"__name__": "installer"}
exec(compile(text, "installer", "exec"), space)
names = {"installer", "host_files", "host_record", "host_downloads"}
def run(kill_at):
    seen = 0
    def trace(frame, event, argument):
        nonlocal seen
        if frame.f_code.co_filename not in names:
            return None
        seen += event == "line"
        if seen == kill_at:
            os._exit(9)
        return trace
    child = os.fork()
    if child == 0:
        sys.settrace(trace)
        answer = space["answer"](line)
        os._exit(0 if "done" in answer else 7)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
kills = 0
while (status := run(kills + 1)) == 9:
    kills += 1
    if undo and kills % 2:
        assert "done" in space["answer"](undo), kills
        assert os.listdir(os.path.dirname(os.environ["PLACE"])) == [], (kills, os.listdir(os.path.dirname(os.environ["PLACE"])))
print(kills, status, "done" in space["answer"](line))
"""


def killed_at_each_line(here: Here, place: Path, request: dict[str, object], undo: dict[str, object] | None) -> int:
    words = [sys.executable, "-c", KILLED_AT_EACH_LINE, command_for(here.records)[-1]]
    lines = [json.dumps({"instance": "ins_one", **one}) if one else "" for one in (request, undo)]
    done = subprocess.run(
        [*words, *lines], capture_output=True, text=True, env={**os.environ, "PLACE": str(place / "x")}, timeout=120
    )
    assert done.returncode == 0, done.stderr
    kills, status, again = done.stdout.split()
    assert (status, again) == ("0", "True")
    return int(kills)


REMOVE = {"action": "remove_all"}


def test_a_put_that_is_killed_anywhere_is_completed_or_undone_by_the_next_call(here: Here, place: Path) -> None:
    content = base64.b64encode(b"text").decode()
    put: dict[str, object] = {
        "action": "put",
        "path": str(place / "a/b"),
        "owner": ME,
        "mode": 0o600,
        "content": content,
    }
    assert killed_at_each_line(here, place, put, None) > 20
    assert ((place / "a/b").read_text(), os.listdir(place / "a")) == ("text", ["b"])
    assert killed_at_each_line(here, place, REMOVE, None) > 10
    assert (os.listdir(place), here.records.exists()) == ([], False)
    assert killed_at_each_line(here, place, put, REMOVE) > 20


def test_an_unpack_that_is_killed_anywhere_is_completed_or_undone_by_the_next_call(
    here: Here, place: Path, store: dict[str, Any]
) -> None:
    document = artifact(store, archive(("bin/run", b"one"), ("link", "bin/run"))).document
    unpack = {"action": "unpack", "path": str(place / "tool"), "owner": ME, "strip": 0, **document}
    assert killed_at_each_line(here, place, unpack, None) > 60
    assert ((place / "tool/bin/run").read_bytes(), os.listdir(place)) == (b"one", ["tool"])
    assert killed_at_each_line(here, place, REMOVE, None) > 10
    assert os.listdir(place) == []
    assert killed_at_each_line(here, place, unpack, REMOVE) > 60


async def test_requests_at_the_same_time_lose_no_record(here: Here, place: Path) -> None:
    async with asyncio.TaskGroup() as group:
        for number in range(6):
            group.create_task(here.put(str(place / f"file-{number}"), "text", owner=ME))
    assert len(await here.remove_all()) == 6
    assert os.listdir(place) == []
