"""The agent's loop against a control plane that checks every signature."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from little_platform import LittlePlatform, Problem

from gpuaas_agent import identity, wire
from gpuaas_agent.allocations import AllocationLedger
from gpuaas_agent.config import Config
from gpuaas_agent.drivers.registry import DriverRegistry
from gpuaas_agent.identity import EnrolmentFailed, HostFacts
from gpuaas_agent.loop import TaskLoop
from gpuaas_agent.protocol import Envelope, Result
from gpuaas_agent.state import TaskJournal
from gpuaas_agent.tasks import TaskExecutor
from gpuaas_agent.terminals.registry import TerminalRegistry

FACTS = HostFacts("host-1", "10.0.0.1", "ssh-ed25519 AAAA")


def make_loop(platform: LittlePlatform, state_dir: Path, hw_root: Path) -> TaskLoop:
    who = identity.load(state_dir) or identity.enrol(identity.parse_bundle(platform.bundle()), state_dir, FACTS)
    config = Config(state_dir=state_dir, hw_root=hw_root, bare_metal_driver="none")
    connection = who.open_wire()
    registry = DriverRegistry(config, AllocationLedger(state_dir))
    terminals = TerminalRegistry(state_dir, connection.stream_requests)
    executor = TaskExecutor(config, registry, lambda *_: "", connection.clock.now, terminals)
    return TaskLoop(
        who.node_id,
        who.trust,
        connection,
        TaskJournal(state_dir),
        executor,
        lambda: who.trust,
        poll_wait_seconds=2,
    )


@contextmanager
def running(loop: TaskLoop) -> Iterator[TaskLoop]:
    loop.resume()
    threading.Thread(target=loop.run, daemon=True).start()
    try:
        yield loop
    finally:
        loop.stop.set()  # the poll that is under way ends by itself


def test_a_discover_task_is_run_and_reported(platform: LittlePlatform, tmp_path: Path, hw_root: Path) -> None:
    with running(make_loop(platform, tmp_path / "state", hw_root)):
        result = platform.wait_result(platform.submit("discover", {}))
    assert result["status"] == "succeeded"
    assert isinstance(result["result"], dict)
    assert len(result["result"]["inventory"]["slots"]) == 4


def test_enrolment_twice_with_one_key_gives_one_node(platform: LittlePlatform, tmp_path: Path) -> None:
    bundle = identity.parse_bundle(platform.bundle())
    first = identity.enrol(bundle, tmp_path, FACTS)
    (tmp_path / "node.json").unlink()  # the agent died before it had stored the answer
    assert identity.enrol(bundle, tmp_path, FACTS).node_id == first.node_id
    assert (tmp_path / "agent.key").stat().st_mode & 0o777 == 0o600


def test_the_wrong_ca_ends_the_enrolment_before_the_token_is_sent(tmp_path: Path) -> None:
    folder = tmp_path / "platform"
    folder.mkdir()
    with LittlePlatform(folder, tls=True) as platform:
        bundle = identity.parse_bundle(platform.bundle())
        wrong = identity.Bundle(bundle.urls, "00" * 32, bundle.token)
        with pytest.raises(EnrolmentFailed):
            identity.enrol(wrong, tmp_path / "state", FACTS)
        assert platform.enrolments == []
        assert identity.enrol(bundle, tmp_path / "state", FACTS).node_id


def test_a_bundle_with_plain_http_to_another_host_is_refused() -> None:
    text = "gpuaas-enrol.v1.eyJ1cmxzIjpbImh0dHA6Ly8xMC4wLjAuMSJdLCJ0b2tlbiI6IngifQ"
    with pytest.raises(EnrolmentFailed):
        identity.parse_bundle(text)


def test_a_wrong_clock_is_corrected_by_what_the_server_says(
    platform: LittlePlatform, tmp_path: Path, hw_root: Path
) -> None:
    platform.skew_ms = 3_600_000
    with running(make_loop(platform, tmp_path / "state", hw_root)):
        result = platform.wait_result(platform.submit("discover", {}, seconds=3700))
    assert result["status"] == "succeeded"


def test_an_older_generation_is_refused(platform: LittlePlatform, tmp_path: Path, hw_root: Path) -> None:
    with running(make_loop(platform, tmp_path / "state", hw_root)):
        platform.wait_result(platform.submit("discover", {}, generation=5))
        result = platform.wait_result(platform.submit("discover", {}, generation=4))
    assert result["status"] == "refused"
    assert isinstance(result["failure"], dict)
    assert result["failure"]["code"] == "stale_generation"


def test_a_task_past_its_deadline_is_not_started(platform: LittlePlatform, tmp_path: Path, hw_root: Path) -> None:
    with running(make_loop(platform, tmp_path / "state", hw_root)):
        result = platform.wait_result(platform.submit("discover", {}, seconds=-1))
    assert (result["status"], result["phases"]) == ("failed", [])
    assert isinstance(result["failure"], dict)
    assert result["failure"]["code"] == "deadline_exceeded"


@pytest.mark.parametrize("kind", ["provision", "wipe", "dance"])
def test_a_task_that_the_host_does_not_offer_fails_with_a_code(
    platform: LittlePlatform, tmp_path: Path, hw_root: Path, kind: str
) -> None:
    spec = {"allocation_id": "alc_1", "shape": "baremetal", "login_user": "gpu", "principal": "x"}
    with running(make_loop(platform, tmp_path / "state", hw_root)):
        result = platform.wait_result(platform.submit(kind, dict(spec)))
    assert isinstance(result["failure"], dict)
    assert result["failure"]["code"] in ("shape_not_offered", "task_kind_unknown")


def test_a_forged_task_is_never_run(platform: LittlePlatform, tmp_path: Path, hw_root: Path) -> None:
    with running(make_loop(platform, tmp_path / "state", hw_root)):
        forged = platform.submit("discover", {}, signer=Ed25519PrivateKey.generate())
        honest = platform.submit("discover", {}, resource_id="alc_2")
        platform.wait_result(honest)
        time.sleep(0.3)
    assert forged not in platform.results


def test_a_result_is_reported_until_the_server_takes_it(
    platform: LittlePlatform, tmp_path: Path, hw_root: Path
) -> None:
    loop = make_loop(platform, tmp_path / "state", hw_root)
    task_id = platform.submit("discover", {})
    assert loop.poll_once()
    platform.fail_next = [Problem(503, "busy"), Problem(500, "broken")]
    try:
        assert platform.wait_result(task_id)["status"] == "succeeded"
    finally:
        loop.stop.set()  # its thread would report to a platform that is gone, for ever, and hold up the interpreter's end


def test_a_result_that_the_platform_refuses_is_dropped(platform: LittlePlatform, tmp_path: Path, hw_root: Path) -> None:
    state = tmp_path / "state"
    loop = make_loop(platform, state, hw_root)
    task_id = platform.submit("discover", {})
    platform.results[task_id] = {"status": "failed"}  # someone reported otherwise before
    envelope = platform.tasks[task_id]
    loop._accept(envelope)
    deadline = time.monotonic() + 60
    while loop._journal.open_tasks() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert loop._journal.open_tasks() == []
    assert list(json.loads((state / "resources/alc_1.json").read_text())["tasks"]) == []


def test_a_server_that_is_away_for_a_while_is_found_again(
    tmp_path: Path, hw_root: Path, platform: LittlePlatform
) -> None:
    loop = make_loop(platform, tmp_path / "state", hw_root)
    with running(loop):
        platform.fail_next = [Problem(502, "away") for _ in range(3)]
        assert platform.wait_result(platform.submit("discover", {}))["status"] == "succeeded"


def test_terminals_that_do_not_open_hold_up_no_other_task(
    platform: LittlePlatform, tmp_path: Path, hw_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, answered = TaskExecutor.execute, threading.Event()

    def slow(self: TaskExecutor, envelope: Envelope, *rest: Any) -> Result:
        if envelope.kind == "terminal":
            assert answered.wait(30)
        return real(self, envelope, *rest)

    monkeypatch.setattr(TaskExecutor, "execute", slow)
    loop = make_loop(platform, tmp_path / "state", hw_root)
    asked = [platform.submit("terminal", {}, resource_id=f"trm_{number}") for number in range(24)]
    with running(loop):
        try:
            assert platform.wait_result(platform.submit("discover", {}), 10)["status"] == "succeeded"
            assert not platform.results.keys() & set(asked)
        finally:
            answered.set()
        for task_id in asked:  # the others waited for their turn
            platform.wait_result(task_id)


AGENT = """
import sys, time
sys.path[:0] = {path!r}
from pathlib import Path
from test_loop import make_loop
from gpuaas_agent import tasks
class Platform:
    pass
real = tasks.TaskExecutor.execute
def slow(self, *rest):
    Path({flag!r}).touch()
    time.sleep({pause})
    return real(self, *rest)
tasks.TaskExecutor.execute = slow
loop = make_loop(Platform(), Path({state!r}), Path({hw!r}))
loop.resume()
loop.run()
"""


def test_a_task_cut_short_by_kill_9_is_run_again_by_the_next_agent(
    platform: LittlePlatform, tmp_path: Path, hw_root: Path
) -> None:
    state, flag = tmp_path / "state", tmp_path / "began"
    identity.enrol(identity.parse_bundle(platform.bundle()), state, FACTS)
    path = [str(Path(__file__).parent), *sys.path]
    text = AGENT.format(path=path, flag=str(flag), pause=60, state=str(state), hw=str(hw_root))
    agent = subprocess.Popen([sys.executable, "-c", text])
    task_id = platform.submit("discover", {})
    deadline = time.monotonic() + 20
    while not flag.exists() and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(agent.pid, signal.SIGKILL)
    agent.wait()
    assert task_id not in platform.results
    with running(make_loop(platform, state, hw_root)):
        assert platform.wait_result(task_id)["status"] == "succeeded"


def test_a_connection_that_the_server_closed_is_opened_anew(platform: LittlePlatform, tmp_path: Path) -> None:
    who = identity.enrol(identity.parse_bundle(platform.bundle()), tmp_path, FACTS)
    connection = who.open_wire()
    connection.call("POST", "/heartbeat", {})
    _, channel = connection._idle.get_nowait()
    assert channel._connection.sock is not None
    channel._connection.sock.shutdown(2)
    connection._idle.put((who.urls[0], channel))
    assert connection.call("POST", "/heartbeat", {})


def test_a_missing_server_is_unreachable_not_a_crash(tmp_path: Path) -> None:
    nobody = wire.Wire(["http://127.0.0.1:9"], None, wire.Clock())
    with pytest.raises(wire.Unreachable):
        nobody.call("GET", "/ca")
