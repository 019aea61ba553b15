"""What a host refuses and why, code by code: its real programs, with an engine and a systemd that do as told."""

import contextlib
import json
import os
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from gpuaas_containers.failures import NEXT_STEPS, host_failure
from gpuaas_containers.hostside import command_of

UNIT, DIGEST = "gpuaas-web.service", f"sha256:{'1' * 64}"
HANG = 60.0  # seconds after which a program that should have given up never will
# The program of the hosts, whose other programs and folders are in one of the test.
MAIN = """
folder, text, line = sys.argv[1:]
for module in list(sys.modules.values()):
    if hasattr(module, "ENGINE"):
        module.ENGINE = f"{folder}/engine"
sys.modules["host_signatures"].VERIFIER = f"{folder}/openssl"
sys.modules["host_removal"].trust_folder = lambda name: f"{folder}/trust"
names = {"__name__": "container_host"}
exec(compile(text, "container_host", "exec"), names)
print(json.dumps(names["answer"](line)))
"""
REMOVAL = {
    "name": "gpuaas-web", "unit": UNIT, "unit_paths": [], "meter": "meter", "folder": "/nonexistent/web",
    "image": "localhost/web", "digests": [], "secrets": "gpuaas-web", "counts": "/nonexistent/counts/a", "seconds": 5,
}  # fmt: skip
PULL = {
    "name": "localhost/gpuaas/web", "digest": DIGEST, "reference": f"registry.test/web@{DIGEST}", "registry": "registry.test",
    "username": "", "password": "", "tls": True, "trust": [], "size": 1, "folder": "/nonexistent", "seconds": 5,
    "signature_file": "/nonexistent/signature",
}  # fmt: skip


def answer(folder: Path, request: dict[str, object], **programs: str) -> dict[str, Any]:
    """What the host answers when its engine, systemctl and journalctl are these scripts."""
    for name, text in {"systemctl": "true", "journalctl": "true", "engine": "true", **programs}.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    program = files("gpuaas_containers.hostside").joinpath("programs", "container_host.py").read_text()
    command = [*command_of(MAIN), str(folder), program, json.dumps(request)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True, timeout=HANG)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def refused(folder: Path, request: dict[str, object], **programs: str) -> tuple[str, str]:
    """The code and the message of the refusal, which has a next step."""
    failed = answer(folder, request, **programs)["failed"]
    assert host_failure("10.0.0.1", failed["code"], failed["message"]).failure.next_step == NEXT_STEPS[failed["code"]]
    return failed["code"], failed["message"]


def unit(state: str, sub: str, restarts: int = 0, status: int = 0, result: str = "exit-code", main_pid: int = 0) -> str:
    """A systemctl that says this of every unit."""
    processes = {"MainPID": main_pid, "NRestarts": restarts}
    shown = {"ActiveState": state, "SubState": sub, "Result": result, "Job": "", **processes}
    return "\n".join(f"echo {name}={value}" for name, value in {**shown, "ExecMainStatus": status}.items())


def said(*lines: str) -> str:
    """A journalctl with these lines."""
    return "\n".join(f"echo '{json.dumps({'MESSAGE': line})}'" for line in lines)


@pytest.mark.parametrize(
    ("systemctl", "log", "code", "message"),
    [
        (unit("failed", "failed", status=3), ["no model"], "container_ended", "status 3"),
        (unit("inactive", "dead", result="success"), [], "container_ended", "status 0"),
        (
            unit("activating", "auto-restart", restarts=3, status=9),
            [],
            "crash_loop",
            "ended 4 times, last with status 9",
        ),
        (unit("failed", "failed", result="timeout"), [], "container_start_timeout", "did not start in time"),
        (
            unit("failed", "failed", status=125),
            ["Error: statfs /x: no such file"],
            "container_start_failed",
            "statfs /x",
        ),
        (unit("failed", "failed", status=126), ["Error: bind: address already in use"], "port_taken", "in use"),
        (unit("failed", "failed", status=125), ["Error: write: no space left on device"], "disk_full", "no space"),
        (
            unit("failed", "failed", status=125),
            ["Error: unresolvable CDI device nvidia.com/gpu=0"],
            "gpu_missing",
            "CDI",
        ),
        (unit("activating", "start"), [], "container_start_timeout", "has not started in 1 s"),
    ],
)
def test_why_a_container_does_not_run_is_told_apart(
    tmp_path: Path, systemctl: str, log: list[str], code: str, message: str
) -> None:
    request = {"action": "watch", "unit": UNIT, "ports": [], "seconds": 1, "restarts": 0}
    found = refused(tmp_path, request, systemctl=systemctl, journalctl=said(*log))
    assert (found[0], message in found[1]) == (code, True), found


RESTARTED = unit("active", "running", restarts=5, main_pid=4711)


def test_a_container_that_was_restarted_long_ago_is_left_alone_and_runs(tmp_path: Path) -> None:
    document = f'#cloud-config\n{{"write_files": [], "runcmd": [["touch", "{tmp_path}/started"]]}}'
    inspected = json.dumps([{"Config": {"Labels": {"l": "1"}}}])
    request = {"action": "apply", "document": document, "name": "web", "unit": UNIT, "fingerprint": "1", "label": "l"}
    programs = {"systemctl": RESTARTED, "engine": f"echo '{inspected}'"}
    applied = answer(tmp_path, {**request, "restart": False}, **programs)["done"]
    assert (applied, (tmp_path / "started").exists()) == ({"started": False, "restarts": 5}, False)
    watch = {"action": "watch", "unit": UNIT, "ports": [], "seconds": 10}
    done = answer(tmp_path, {**watch, "restarts": 5}, systemctl=RESTARTED)["done"]
    assert (done["state"], done["restarts"]) == ("active", 5)
    assert refused(tmp_path, {**watch, "restarts": 2}, systemctl=RESTARTED)[0] == "crash_loop"
    begun = answer(tmp_path, {**request, "restart": True}, **programs)["done"]
    assert (begun, (tmp_path / "started").exists()) == ({"started": True, "restarts": 0}, True)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("#!/bin/sh\n", "not a cloud-config"),
        ('#cloud-config\n{"write_files": [], "runcmd": [], "users": []}', "keys beside"),
        (
            '#cloud-config\n{"write_files": [{"owner": "me:me", "path": "/nonexistent/x"}], "runcmd": []}',
            "not belong to root",
        ),
    ],
)
def test_a_document_that_no_controller_of_ours_writes_changes_nothing(tmp_path: Path, text: str, message: str) -> None:
    request = {"action": "apply", "document": text, "name": "web", "unit": UNIT, "fingerprint": "1", "label": "l"}
    code, why = refused(tmp_path, {**request, "restart": True}, systemctl=f"touch {tmp_path}/called")
    assert (code, message in why, (tmp_path / "called").exists()) == ("document_refused", True, False)


def test_a_document_whose_command_fails_is_a_container_that_did_not_start(tmp_path: Path) -> None:
    document = '#cloud-config\n{"write_files": [], "runcmd": [["sh", "-c", "echo no such unit >&2; exit 5"]]}'
    request = {"action": "apply", "document": document, "name": "web", "unit": UNIT, "fingerprint": "1", "label": "l"}
    code, why = refused(tmp_path, {**request, "restart": True})
    assert (code, "no such unit" in why) == ("container_start_failed", True)


def test_an_engine_that_keeps_no_secret_is_named_without_the_value(tmp_path: Path) -> None:
    put = {
        "action": "put_secrets",
        "variables": {"gpuaas-web.a": "aHVudGVyMg=="},
        "folder": "/x",
        "files": {},
        "owner": [],
    }
    refuses = '[ "$2" != create ] || { cat >/dev/null; echo "no such driver" >&2; exit 125; }'
    code, why = refused(tmp_path, put, engine=refuses)
    assert (code, "no such driver" in why, "hunter2" in why) == ("secret_refused", True, False)
    assert refused(tmp_path, put, engine="exit 125")[0] == "secret_refused"
    full = '[ "$2" != create ] || { cat >/dev/null; echo "write: no space left on device" >&2; exit 125; }'
    assert refused(tmp_path, put, engine=full)[0] == "disk_full"
    made = tmp_path / "made"
    raced = f'[ "$2" = create ] || {{ [ ! -e {made} ] || echo gpuaas-web.a; exit 0; }}; cat >/dev/null; touch {made}; exit 125'
    assert answer(tmp_path, put, engine=raced) == {"done": {}}, "another attempt has made it"


@pytest.mark.parametrize(
    ("kind", "listed", "name"),
    [("volume", "gpuaas-web.data", "volume gpuaas-web.data"), ("network", "gpuaas-web", "network gpuaas-web"),
     ("secret", "gpuaas-web.token", "the secret gpuaas-web.token")],
)  # fmt: skip
def test_what_cannot_be_removed_is_named(tmp_path: Path, kind: str, listed: str, name: str) -> None:
    engine = (
        f'case "$1 $2" in "{kind} ls") echo {listed} ;; "{kind} rm") echo "it is in use" >&2; exit 2 ;;'
        " images*) echo '[]' ;; esac"
    )
    request = {"action": "remove", **REMOVAL}
    code, why = refused(tmp_path, request, engine=engine, systemctl=unit("inactive", "dead"))
    assert (code, name in why, "in use" in why) == ("removal_failed", True, True)


def test_a_unit_that_does_not_stop_is_named(tmp_path: Path) -> None:
    request = {"action": "stop", "unit": UNIT, "seconds": 5}
    assert refused(tmp_path, request, systemctl=unit("active", "running"))[0] == "stop_failed"


def test_a_signature_that_is_required_and_cannot_be_checked_refuses_the_image(tmp_path: Path) -> None:
    policy = {"required": True, "keys": []}
    code, why = refused(tmp_path, {"action": "pull", **PULL, "signature_policy": policy})
    assert (code, "openssl is not installed" in why) == ("signature_unchecked", True)


# A registry that stalls: on a real connection, for as long as somebody waits.


def stall(connection: socket.socket, begins: bytes, drips: bytes) -> None:
    """Send the beginning of an answer, and then a byte now and then, or nothing more."""
    with connection, contextlib.suppress(OSError):
        connection.recv(1 << 16)
        connection.sendall(begins)
        while True:
            time.sleep(0.1)
            connection.sendall(drips)


@contextlib.contextmanager
def stalling_registry(begins: bytes, drips: bytes) -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    threading.Thread(target=stall, args=(connection, begins, drips), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        yield f"127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)


HEADER = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n"


@pytest.mark.parametrize(
    ("begins", "drips"),
    [(b"", b""), (HEADER, b"x"), (HEADER + b"\r\n", b""), (HEADER + b"\r\n", b" ")],
    ids=["silent", "endless-header", "silent-body", "slow-body"],
)
def test_a_registry_that_stalls_holds_the_check_of_a_signature_no_longer_than_the_pull_may_take(
    tmp_path: Path, begins: bytes, drips: bytes
) -> None:
    """Without a deadline over all of the answer this would never end, or end after a megabyte of single bytes."""
    with stalling_registry(begins, drips) as registry:
        place = {"registry": registry, "reference": f"{registry}/web@{DIGEST}", "tls": False, "seconds": 1.5}
        policy = {"required": True, "keys": [{"fingerprint": "1", "algorithm": "ed25519", "public_key": ""}]}
        request = {"action": "pull", **PULL, **place, "signature_policy": policy}
        code, why = refused(tmp_path, request, openssl="exit 1")
    assert (code, "signatures of the image cannot be read" in why) == ("image_pull_failed", True), why


def test_a_registry_that_stalls_is_told_from_one_that_is_away(tmp_path: Path) -> None:
    policy = {"required": True, "keys": []}
    with stalling_registry(b"", b"") as registry:
        place = {"registry": registry, "reference": f"{registry}/web@{DIGEST}", "tls": False, "seconds": 1.0}
        _, stalled = refused(tmp_path, {"action": "pull", **PULL, **place, "signature_policy": policy}, openssl="true")
    _, away = refused(tmp_path, {"action": "pull", **PULL, **place, "signature_policy": policy}, openssl="true")
    assert ("too long" in stalled, "Connection refused" in away) == (True, True), (stalled, away)
