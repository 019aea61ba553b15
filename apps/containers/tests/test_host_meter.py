"""What a host counts for a container: every second and every token once, over restarts, whatever page it is shown."""

import importlib.util
import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.resources import files
from pathlib import Path
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_containers.usage import MOST_COUNTERS, MeteredInstance, observe_counts
from gpuaas_sdk.controller import MemberCounts, parse_counts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
UNITS = {"container_seconds": "second", "tokens": "count"}
TOKENS = {"key": "tokens", "port": 8000, "path": "/metrics", "metric": "tokens_total", "labels": {}}
BORN = "2026-03-01T12:00:00+00:00"


def _meter() -> ModuleType:
    path = Path(str(files("gpuaas_containers.hostside").joinpath("programs", "usage_meter.py")))
    spec = importlib.util.spec_from_file_location("usage_meter", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


meter = _meter()


def shown(entered: int, exited: int = 0, state: str = "active") -> dict[str, str]:
    return {
        "ActiveState": state,
        "ActiveEnterTimestampMonotonic": str(entered),
        "ExecMainExitTimestampMonotonic": str(exited),
    }


def seconds(state: dict[str, object]) -> int:
    counts = meter.counts_of(state, "mem_1", [])
    return int(counts["values"]["container_seconds"])


@given(st.lists(st.tuples(st.integers(1, 9_000_000), st.integers(0, 5), st.booleans()), min_size=1, max_size=12))
def test_every_run_of_a_container_is_counted_once_however_often_it_is_looked_at(
    runs: list[tuple[int, int, bool]],
) -> None:
    """Each run is looked at some times; one that is not seen to end is one whose host lost its power."""
    state, now, ran = meter.new_state(BORN), 1_000_000, 0
    for length, looks, seen_to_end in runs:
        entered, last = now, 0
        for look in range(looks):
            last = length * (look + 1) // (looks + 1)
            state = meter.note_run(state, shown(entered), "boot", entered + last)
            state = meter.note_run(state, shown(entered), "boot", entered + last)
        now = entered + length
        if seen_to_end:
            state = meter.note_run(state, shown(entered, now, "deactivating"), "boot", now + 7)
            state = meter.note_run(
                state, shown(entered, now + 50, "activating"), "boot", now + 99
            )  # a start that failed
        ran += length if seen_to_end else last
        now += 1000
    assert meter.counts_of(state, "mem_1", [])["values"]["container_seconds"] == ran // 1_000_000


def test_a_unit_that_never_ran_has_counted_nothing() -> None:
    state = meter.note_run(meter.new_state(BORN), shown(0, state="inactive"), "boot", 5_000_000)
    assert seconds(state) == 0


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans(), st.booleans()), max_size=20))
def test_a_counter_that_begins_again_loses_nothing_that_was_read(steps: list[tuple[int, bool, bool]]) -> None:
    """A container that is restarted, or a process in it: the counter is 0 and grows again. Reads may come twice."""
    state, value, total = meter.note_run(meter.new_state(BORN), shown(1), "boot", 2), 0, 0
    entered = 1
    for grown, restarted, whole_container in steps:
        if restarted and (whole_container or value > grown):  # a smaller value shows that the process began again
            value = 0
            if whole_container:
                entered += 10
                state = meter.note_run(state, shown(entered), "boot", entered + 1)
        value, total = value + grown, total + grown
        page = f'tokens_total{{model="a"}} {value}\n'
        for _ in range(2):
            state = meter.note_samples(state, [TOKENS], meter.parse_page(page, {"tokens_total"}))
    assert meter.counts_of(state, "mem_1", [TOKENS])["values"]["tokens"] == total


def test_samples_are_chosen_by_labels_and_added() -> None:
    page = (
        "# TYPE tokens_total counter\n"
        'tokens_total{model="a",kind="in"} 5\ntokens_total{kind="in",model="b \\"x\\" \\\\ \\n"} 7.5 1700000000000\n'
        'tokens_total{model="a",kind="out"} 100\ntokens_total_other{kind="in"} 9\ntokens_total{kind="in"} NaN\n'
        "# TYPE gauge_total gauge\ngauge_total 8\n"
    )
    samples = meter.parse_page(page, {"tokens_total", "gauge_total"})
    of_input = TOKENS | {"labels": {"kind": "in"}}
    gauge = TOKENS | {"key": "gauge", "metric": "gauge_total"}
    state = meter.note_samples(meter.new_state(BORN), [of_input, gauge], samples)
    assert meter.counts_of(state, "mem_1", [of_input, gauge])["values"] == {
        "container_seconds": 0,
        "tokens": 12,
        "gauge": 0,
    }
    assert samples[1][1]["model"] == 'b "x" \\ \n'
    only_a = meter.parse_page(
        'tokens_total{model="a",kind="in"} 6\n', {"tokens_total"}
    )  # the other series is not there
    state = meter.note_samples(state, [of_input], only_a)
    assert meter.counts_of(state, "mem_1", [of_input])["values"]["tokens"] == 13


@given(st.text(max_size=300))
def test_no_page_breaks_the_reader(text: str) -> None:
    samples = meter.parse_page(f"tokens_total{text}\n{text}", {"tokens_total"})
    meter.note_samples(meter.new_state(BORN), [TOKENS], samples)


VERSIONS = {
    "/text": b"1.2.3\n",
    "/json": b'{"version": "1.2.3", "number": 5}',
    "/list": b"[1]",
    "/deep": b"[" * 3000,
    "/lines": b"1.2\n3",
}


class _Pages(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(404 if self.path == "/absent" else 200)
        self.end_headers()
        if self.path == "/metrics":
            self.wfile.write(b"tokens_total 3\n")
        elif self.path in VERSIONS:
            self.wfile.write(VERSIONS[self.path])
        elif self.path == "/long":
            self.wfile.write(b"tokens_total 1\n" * (meter.MOST_PAGE // 15 + 2))
        elif self.path == "/many":
            self.wfile.write(b"".join(b'tokens_total{n="%d"} 1\n' % n for n in range(meter.MOST_SAMPLES + 1)))

    def log_message(self, *_: object) -> None:
        """A test prints nothing."""


@pytest.fixture
def port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Pages) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def test_a_page_that_cannot_be_read_leaves_its_counter_and_those_of_other_pages(port: int) -> None:
    paths = ("/absent", "/long", "/many", "/metrics")
    counters = [TOKENS | {"key": path[1:], "port": port, "path": path} for path in paths]
    state = {**meter.new_state(BORN), "address": "127.0.0.1"}
    state = meter.note_pages(state, {"container": "none", "counters": counters}, "/bin/false")
    assert state["totals"] == {"metrics": 3.0}


@pytest.mark.parametrize(
    ("path", "field", "said"),
    [
        ("/text", None, "1.2.3"),
        ("/json", "version", "1.2.3"),
        ("/json", "number", None),
        ("/json", "none", None),
        ("/json", None, None),
        ("/list", "version", None),
        ("/deep", "version", None),
        ("/lines", None, None),
        ("/absent", None, None),
        ("/long", None, None),
    ],
)
def test_a_container_says_its_version_or_nothing(port: int, path: str, field: str | None, said: str | None) -> None:
    page = {"port": port, "path": path, "field": field}
    state = {**meter.note_run(meter.new_state(BORN), shown(1), "boot", 2), "address": "127.0.0.1"}
    state = meter.note_pages(state, {"container": "none", "counters": [], "version_page": page}, "/bin/false")
    assert meter.counts_of(state, "mem_1", []).get("runtime_version") == said
    again = meter.note_run(state, shown(10), "boot", 11)
    assert "runtime_version" not in meter.counts_of(again, "mem_1", []), "another run may be of another program"


# What the controller makes of it.


def instance(*names: str) -> MeteredInstance:
    return MeteredInstance("ins_1", "prj_1", NOON, UNITS, {f"mem_{one}": one for one in names})


def counts(name: str, ran: int, tokens: int = 0) -> MemberCounts:
    return MemberCounts(f"mem_{name}", NOON - timedelta(days=1), {"container_seconds": ran, "tokens": tokens, "odd": 4})


@given(st.data())
def test_whenever_the_controller_dies_each_unit_of_each_member_is_recorded_once(data: st.DataObject) -> None:
    """A check may end after its reading, or after it was recorded and before its position was kept; a host may be away."""
    kept: dict[str, object] = {}
    recorded: dict[str, tuple[str, int]] = {}
    values = {"a": 0, "b": 0}
    now = NOON
    for _ in range(data.draw(st.integers(0, 15))):
        now += timedelta(minutes=5)
        for name in values:
            values[name] += data.draw(st.integers(0, 30))
        here = [counts(name, value) for name, value in values.items() if data.draw(st.booleans())]
        counters = observe_counts(instance("a", "b"), kept, here, now)
        dies = data.draw(st.sampled_from(("never", "before", "between")))
        if dies == "before":
            continue
        for one in counters.usage:
            assert recorded.setdefault(one.source_key, (str(one.subject), one.quantity))[1] == one.quantity
        if dies == "never":
            kept = json.loads(json.dumps(counters.document()))
    both = [counts(name, value) for name, value in values.items()]
    last = observe_counts(instance("a", "b"), kept, both, now + timedelta(minutes=5))
    for one in last.rest():
        recorded[one.source_key] = (str(one.subject), one.quantity)
    for name, value in values.items():
        assert sum(quantity for subject, quantity in recorded.values() if subject == name) == value


def test_members_that_left_take_no_room_and_what_they_were_used_for_is_still_due() -> None:
    first = observe_counts(instance("a", "b"), {}, [counts("a", 5), counts("b", 7)], NOON + timedelta(minutes=5))
    second = observe_counts(instance("a"), first.document(), [], NOON + timedelta(minutes=10))
    assert sorted(one.quantity for one in second.usage) == [5, 7]
    assert {one.split("/")[-1] for one in second.positions} == {"a"}


def test_a_count_that_cannot_be_is_left_out_and_the_next_one_counts() -> None:
    first = observe_counts(instance("a"), {}, [counts("a", 5)], NOON + timedelta(minutes=5))
    wild = observe_counts(instance("a"), first.document(), [counts("a", 2**52)], NOON + timedelta(minutes=10))
    calm = observe_counts(instance("a"), wild.document(), [counts("a", 9)], NOON + timedelta(minutes=15))
    assert sum(one.quantity for one in [*wild.usage, *calm.rest()]) == 9


def test_the_positions_of_the_largest_instance_fit_into_a_runtime() -> None:
    names = [f"component/{number}" for number in range(MOST_COUNTERS + 5)]
    found = [MemberCounts(f"mem_{one}", NOON, {"container_seconds": 10**8}) for one in names]
    kept = observe_counts(instance(*names), {}, found, NOON + timedelta(minutes=5)).document()
    kept = observe_counts(instance(*names), kept, found, NOON + timedelta(minutes=5)).document()
    assert len(json.dumps(kept)) < 62_000


@pytest.mark.parametrize(
    "line",
    [
        "",
        "[]",
        "nonsense",
        '{"member_id": "mem_a", "since": "2026-03-01T12:00:00", "values": {}}',
        '{"member_id": "mem_a", "since": "2026-03-01T12:00:00+00:00", "values": {"tokens": -1}}',
        '{"member_id": "mem_a", "since": "2026-03-01T12:00:00+00:00", "values": {"tokens": 1e300}}',
        '{"member_id": "mem_a", "since": "2026-03-01T12:00:00+00:00", "values": {"tokens": true}}',
        '{"member_id": "mem_a", "since": 5, "values": {"tokens": 1}}',
        "[" * 3000,
    ],
)
def test_a_line_that_is_no_count_says_nothing_and_the_others_stand(line: str) -> None:
    good = '{"member_id": "mem_b", "since": "2026-03-01T12:00:00+00:00", "values": {"tokens": 1}}'
    assert [one.member_id for one in parse_counts(f"{line}\n{good}\n")] == ["mem_b"]
