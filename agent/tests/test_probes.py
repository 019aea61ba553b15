"""Probes: their thresholds, what each kind sees of real sockets, and that a hostile app cannot hold one up."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_agent import wire
from gpuaas_agent.commands import Deadline
from gpuaas_agent.failures import SpecInvalid
from gpuaas_agent.probe_reporter import ProbeReporter
from gpuaas_agent.probes.checks import ProbeTarget, run_probe
from gpuaas_agent.probes.registry import MOST_MEMBERS, ProbeRegistry
from gpuaas_agent.probes.spec import Probe, ProbeSpec, parse_probes
from gpuaas_agent.probes.state import Answer, ProbeState, is_finished, longest_start, next_state

SECONDS = 60.0  # a guard against hanging
PASS, FAIL = Answer(True, "HTTP 200"), Answer(False, "connection refused")


def probe(**changes: object) -> Probe:
    values: dict[str, object] = {"key": "answers", "kind": "tcp", "readiness": True, "liveness": True, **changes}
    return Probe(**values)  # type: ignore[arg-type]


def target(*addresses: str, units: Callable[[str, Deadline], bool] = lambda *_: True) -> ProbeTarget:
    return ProbeTarget(addresses or ("127.0.0.1",), contextlib.nullcontext, units)


@contextlib.contextmanager
def serving(answer: bytes | None, pause: float = 0.0) -> Iterator[int]:
    """A server that says the answer to every connection, in small pieces; None: it says nothing and holds on."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve(connection: socket.socket) -> None:
            with connection, contextlib.suppress(OSError):
                connection.recv(4096)
                if answer is None:
                    connection.recv(1)
                for position in range(0, len(answer or b""), 4):
                    connection.sendall((answer or b"")[position : position + 4])
                    time.sleep(pause)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def closed_port() -> Iterator[int]:
    """Yield a port that stays taken, and nobody listens on it unless the test does."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def test_a_probe_passes_after_its_successes_and_fails_after_its_failures() -> None:
    asked = probe(successes=2, failures=2, start_period=0.0, interval=5.0)
    state = ProbeState("pending", 0.0)
    state = next_state(asked, state, PASS, 1.0, 1.0)
    assert state.status == "pending"
    state = next_state(asked, state, PASS, 2.0, 2.0)
    assert (state.status, state.since, state.pause) == ("passing", 2.0, 5.0)
    state = next_state(asked, state, FAIL, 3.0, 3.0)
    assert (state.status, state.answer) == ("passing", "connection refused")
    state = next_state(asked, state, FAIL, 4.0, 4.0)
    assert (state.status, state.since) == ("failing", 4.0)
    assert next_state(asked, next_state(asked, state, PASS, 5, 5), PASS, 6, 6).status == "passing"


def test_failures_do_not_count_while_a_member_starts() -> None:
    asked, state = probe(start_period=10.0, failures=1, interval=5.0, timeout=1.0), ProbeState("pending", 0.0)
    for second in range(16):
        state = next_state(asked, state, FAIL, float(second), float(second))
        assert state.status == "pending"
    assert next_state(asked, state, FAIL, longest_start(asked), 16.0).status == "failing"


@given(st.lists(st.booleans(), max_size=40), st.integers(1, 4), st.integers(1, 4), st.floats(0, 20))
def test_a_status_never_changes_without_its_streak(
    outcomes: list[bool], successes: int, failures: int, start_period: float
) -> None:
    asked = probe(successes=successes, failures=failures, start_period=start_period, interval=2.0)
    state = ProbeState("pending", 0.0)
    for second, passed in enumerate(outcomes):
        after = next_state(asked, state, PASS if passed else FAIL, float(second), float(second))
        assert 0 < after.pause <= asked.interval
        if after.status != state.status:
            needed = successes if after.status == "passing" else failures
            assert outcomes[second + 1 - needed : second + 1] == [passed] * needed
            assert (after.status == "passing") == passed
            assert after.status != "pending"
        state = after


def test_a_probe_of_readiness_alone_ends_with_the_start() -> None:
    asked, state = probe(liveness=False), ProbeState("pending", 0.0)
    assert not is_finished(asked, state)
    assert is_finished(asked, next_state(asked, state, PASS, 1, 1))


def test_a_port_that_takes_connections_passes(closed_port: int) -> None:
    with serving(None) as port:
        assert run_probe(probe(port=port), target()) == Answer(True, "connected")
    assert run_probe(probe(port=closed_port), target()) == FAIL


def test_an_app_on_the_loopback_alone_is_found() -> None:
    with serving(b"HTTP/1.1 204 No Content\r\n\r\n") as port:
        elsewhere = "127.0.0.9"  # nobody listens there
        with socket.create_server((elsewhere, 0)):
            answer = run_probe(probe(kind="http", port=port), target(elsewhere, "127.0.0.1"))
    assert answer == Answer(True, "HTTP 204")


@pytest.mark.parametrize(
    ("line", "expected", "answer"),
    [
        (b"HTTP/1.1 200 OK\r\n", (), Answer(True, "HTTP 200")),
        (b"HTTP/1.0 302 Found\r\nLocation: http://10.0.0.1/\r\n", (), Answer(True, "HTTP 302")),
        (b"HTTP/1.1 401 Unauthorized\r\n", (), Answer(False, "HTTP 401")),
        (b"HTTP/1.1 401 Unauthorized\r\n", (200, 401), Answer(True, "HTTP 401")),
        (b"HTTP/1.1 503 \x1b[31mno\r\n", (), Answer(False, "HTTP 503")),
        (b"SSH-2.0-OpenSSH_9.2\r\n", (), Answer(False, "the answer is not HTTP")),
        (b"HTTP/1.1 2000 \r\n", (), Answer(False, "the answer is not HTTP")),
        (b"x" * 100_000, (), Answer(False, "the answer is not HTTP")),
        (b"", (), Answer(False, "the answer is not HTTP")),
    ],
)
def test_an_http_status_decides(line: bytes, expected: tuple[int, ...], answer: Answer) -> None:
    with serving(line) as port:
        asked = probe(kind="http", port=port, path="/healthz", expected_status=frozenset(expected))
        assert run_probe(asked, target()) == answer


def test_an_app_that_dribbles_its_answer_is_not_waited_for() -> None:
    with serving(b"HTTP/1.1 " + b" " * 900, pause=0.2) as port:
        assert run_probe(probe(kind="http", port=port, timeout=0.5), target()) == Answer(False, "timed out")


def test_a_unit_is_asked_of_the_target() -> None:
    asked = probe(kind="unit", unit="app.service")
    assert run_probe(asked, target(units=lambda unit, _: unit == "app.service")).passed
    assert run_probe(asked, target(units=lambda *_: False)).text == "app.service is not active"


class Platform:
    """Takes reports, as the platform does."""

    def __init__(self) -> None:
        self.reports: list[dict[str, object]] = []
        self.trouble: list[Exception] = []
        self.ended: list[str] = []
        self.changed = threading.Condition()

    def send(self, body: dict[str, object]) -> dict[str, object]:
        if self.trouble:
            raise self.trouble.pop(0)
        with self.changed:
            self.reports += body["members"]  # type: ignore[operator]
            self.changed.notify_all()
        return {"ended": self.ended}

    def wait(self, status: str, after: int = 0) -> dict[str, object]:
        def found() -> list[dict[str, object]]:
            return [one for one in self.reports[after:] if one["probes"][0]["status"] == status]  # type: ignore[index]

        with self.changed:
            assert self.changed.wait_for(found, SECONDS), f"never {status}: {self.reports}"
            return found()[0]


def spec(*probes: Probe, member_id: str = "mem_1", allocation_id: str = "alc_1") -> ProbeSpec:
    return ProbeSpec(member_id, allocation_id, "baremetal", probes)


@pytest.fixture
def stop() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def test_only_what_changes_is_reported_and_until_it_has_arrived(stop: threading.Event, closed_port: int) -> None:
    platform = Platform()
    platform.trouble = [wire.Unreachable("away"), wire.Refused(503, "unavailable", "", {})]
    reporter = ProbeReporter(platform.send, stop)
    asked = probe(port=closed_port, interval=0.1, start_period=5.0, failures=2)
    reporter.registry.watch(spec(asked), 3, target())
    waiting = platform.wait("pending")
    assert (waiting["member_id"], waiting["generation"]) == ("mem_1", 3)
    with socket.create_server(("127.0.0.1", closed_port)):
        platform.wait("passing")
        for _ in range(20):
            reporter.registry.reports()
            time.sleep(0.05)
        assert len(platform.reports) == 2, "a probe that goes on as before is no news"
    said = platform.wait("failing")
    assert said["probes"][0]["answer"] == "connection refused"  # type: ignore[index]
    reporter.registry.watch(spec(), 4, target())
    assert reporter.registry.reports() == []


def test_a_member_that_the_platform_has_given_up_is_not_probed_any_more(stop: threading.Event) -> None:
    platform = Platform()
    platform.ended = ["mem_1"]
    reporter = ProbeReporter(platform.send, stop)
    with serving(None) as port:
        reporter.registry.watch(spec(probe(port=port, interval=0.1)), 1, target())
        platform.wait("passing")
        deadline = time.monotonic() + SECONDS
        while reporter.registry.reports() and time.monotonic() < deadline:
            time.sleep(0.02)
    assert reporter.registry.reports() == []


def test_a_slow_app_delays_no_other_allocations_probes(stop: threading.Event) -> None:
    platform = Platform()
    reporter = ProbeReporter(platform.send, stop)
    with serving(None) as stuck, serving(b"HTTP/1.1 200 OK\r\n") as port:
        slow = probe(kind="http", port=stuck, timeout=10.0)
        reporter.registry.watch(spec(slow, member_id="mem_slow", allocation_id="alc_slow"), 1, target())
        reporter.registry.watch(spec(probe(kind="http", port=port)), 1, target())
        assert platform.wait("passing")["member_id"] == "mem_1"


def test_a_released_allocation_is_not_probed_and_a_host_has_a_limit(closed_port: int) -> None:
    registry = ProbeRegistry()
    asked = probe(port=closed_port, interval=3600.0)
    for number in range(MOST_MEMBERS):
        registry.watch(spec(asked, member_id=f"mem_{number}"), 1, target())
    assert "not run" in registry.watch(spec(asked, member_id="mem_more"), 1, target())
    assert registry.end_allocation("alc_1") == MOST_MEMBERS
    assert registry.reports() == []


def raw_spec(**changes: object) -> dict[str, object]:
    entry = {"key": "answers", "kind": "http", "purpose": ["readiness"], "port": 80, **changes}
    return {"member_id": "mem_1", "allocation_id": "alc_1", "shape": "baremetal", "probes": [entry]}


def test_a_sound_spec_is_read_with_its_defaults() -> None:
    (read,) = parse_probes(raw_spec(expected_status=[200, 204], unit=None)).probes
    assert (read.readiness, read.liveness, read.path, read.interval) == (True, False, "/", 15)
    assert read.expected_status == {200, 204}


@pytest.mark.parametrize(
    "changes",
    [
        {"kind": "exec"},
        {"port": 0},
        {"port": "80"},
        {"port": None},
        {"path": "/a b"},
        {"path": "/\r\nX: y"},
        {"path": "http://10.0.0.1/"},
        {"purpose": []},
        {"purpose": "readiness"},
        {"kind": "unit", "unit": "-H.service"},
        {"kind": "unit", "unit": "a.service;id"},
        {"expected_status": [1000]},
        {"timeout_seconds": 11},
        {"interval_seconds": 0},
        {"key": "../x"},
    ],
)
def test_a_spec_with_text_that_may_not_reach_a_host_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(SpecInvalid):
        parse_probes(raw_spec(**changes))


def test_a_spec_with_too_many_probes_is_refused() -> None:
    many = {**raw_spec(), "probes": [{**raw_spec()["probes"][0], "key": f"k{n}"} for n in range(9)]}  # type: ignore[index]
    with pytest.raises(SpecInvalid):
        parse_probes(many)
