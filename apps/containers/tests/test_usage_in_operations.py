"""Usage while operations work on members beside health checks: each unit once, however they interleave, fail or are killed."""

from collections.abc import Coroutine, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuaas_containers.controller import METERING, Containers
from gpuaas_containers.usage import MeteredInstance, observe_counts
from gpuaas_sdk.controller import InstanceSnapshot, MemberCounts, UsageCounters, UsageReport
from gpuaas_sdk.controller.counters import POSITION
from gpuaas_sdk.controller.lease import Lease, RuntimeChange
from gpuaas_sdk.controller.usage import record_counters
from gpuaas_sdk.errors import Conflict, Problem

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
UNITS = {"container_seconds": "second"}
NAMES = ("a", "b")


class Turn:
    """Waits until the test lets its coroutine go on: others may go on before."""

    def __await__(self) -> Generator[None, None, None]:
        yield


@dataclass
class Cloud:
    """The platform and the hosts: what they answer, one call at a time."""

    runtime: dict[str, object] = field(default_factory=lambda: {METERING: UNITS})
    counted: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))
    recorded: dict[str, UsageReport] = field(default_factory=dict)
    seconds: int = 0

    @property
    def now(self) -> datetime:
        self.seconds += 1
        return NOON + timedelta(seconds=self.seconds)

    async def report_usage(self, project_id: str, instance_id: str, records: Sequence[UsageReport]) -> object:
        await Turn()
        for one in records:
            known = self.recorded.setdefault(one.source_key, one)
            assert known.quantity == one.quantity
        return SimpleNamespace(recorded=len(records))

    async def show(self, project_id: str, instance_id: str) -> object:
        await Turn()
        return SimpleNamespace(runtime=self.runtime)

    async def keep(self, runtime: Mapping[str, object], expected: Mapping[str, object]) -> None:
        await Turn()
        if self.runtime != expected:
            raise Conflict(Problem(code="stale_generation", status=409, detail="moved"))
        self.runtime = dict(runtime)

    async def read(self, runtime: Mapping[str, object], names: Sequence[str], *, forget: bool) -> UsageCounters:
        await Turn()
        found = [
            MemberCounts(one, NOON - timedelta(hours=1), {"container_seconds": self.counted[one]}) for one in names
        ]
        metered = MeteredInstance("ins_1", "prj_1", NOON, UNITS, {one: one for one in (NAMES if forget else names)})
        return observe_counts(metered, runtime, found, self.now, forget=forget)

    def lease(self) -> Lease:
        """A claim: its instance has the runtime of now."""

        async def report(*, runtime: RuntimeChange) -> None:
            await self.keep(runtime.runtime, runtime.expected)

        api = SimpleNamespace(controller=self, instances=self)
        claimed = SimpleNamespace(instance=SimpleNamespace(id="ins_1", runtime=dict(self.runtime)))
        return cast("Lease", SimpleNamespace(api=api, project_id="prj_1", claimed=claimed, report=report))

    async def check(self) -> None:
        """A health check, as the framework does it."""
        runtime = self.runtime
        counters = await self.read(runtime, NAMES, forget=True)
        await self.report_usage("prj_1", "ins_1", counters.usage)
        try:
            await self.keep({**runtime, **counters.document()}, runtime)
        except Conflict:
            return

    async def operate(self, name: str, *, succeeds: bool) -> None:
        """An operation that stops a member, and completes with a runtime without a position, or fails."""
        lease = self.lease()

        async def read(runtime: Mapping[str, object]) -> UsageCounters:
            return await self.read(runtime, [name], forget=False)

        await record_counters(lease, read)
        await Turn()
        if succeeds:  # as the platform keeps `runtime_kept`
            kept = {key: value for key, value in self.runtime.items() if key == POSITION}
            self.runtime = {METERING: UNITS, "version": self.seconds, **kept}


def go_on(work: Coroutine[Any, Any, None]) -> bool:
    """Let it work until its next turn. Returns whether it has ended."""
    try:
        work.send(None)
    except StopIteration:
        return True
    return False


@dataclass
class Story:
    """What happens to a cloud: containers run, checks and operations come, go on, are killed, or end."""

    cloud: Cloud = field(default_factory=Cloud)
    checks: list[Coroutine[Any, Any, None]] = field(default_factory=list)
    operations: dict[str, Coroutine[Any, Any, None]] = field(
        default_factory=dict
    )  # by the member that each has stopped
    stopped: set[str] = field(default_factory=set)

    def happen(self, action: str, name: str, number: int) -> None:
        if action == "count" and name not in self.stopped:
            self.cloud.counted[name] += number
        elif action == "check" and len(self.checks) < 2:
            self.checks.append(self.cloud.check())
        elif action == "whole check":
            finish(self.cloud.check())
        elif action == "go on":
            self.checks = [one for one in self.checks if not go_on(one)]
            if name in self.operations and any(go_on(self.operations[name]) for _ in range(1 + number // 4)):
                del self.operations[name]
                self.stopped.discard(name)
        elif action == "operate" and name not in self.operations:  # also another attempt of one that was killed
            self.stopped.add(name)
            self.operations[name] = self.cloud.operate(name, succeeds=number % 2 == 0)
        elif action == "kill" and name in self.operations:
            self.operations.pop(name).close()
        elif action == "give up" and name not in self.operations:  # it is cancelled, and the member starts again
            self.stopped.discard(name)

    def end(self) -> None:
        """Let everything that is under way end, and check until all is recorded."""
        for rest in (*self.checks, *self.operations.values()):
            finish(rest)
        for _ in range(3):
            finish(self.cloud.check())


def finish(work: Coroutine[Any, Any, None]) -> None:
    while not go_on(work):
        pass


ACTIONS = ("count", "check", "whole check", "go on", "go on", "operate", "kill", "give up")
HAPPENED = st.tuples(st.sampled_from(ACTIONS), st.sampled_from(NAMES), st.integers(0, 9))


@settings(max_examples=300, deadline=None)
@given(st.lists(HAPPENED, min_size=30, max_size=100))
def test_each_unit_is_recorded_once_whatever_operations_and_checks_do_at_the_same_time(
    happened: list[tuple[str, str, int]],
) -> None:
    story = Story()
    for action, name, number in happened:
        story.happen(action, name, number)
    story.end()
    for name in NAMES:
        recorded = (one.quantity for one in story.cloud.recorded.values() if one.subject == name)
        assert sum(recorded) == story.cloud.counted[name]


async def test_a_check_leaves_out_an_instance_with_an_operation_on_a_member_and_counts_it_later() -> None:
    class Counted(InstanceSnapshot):
        async def read_counts(self) -> list[MemberCounts]:
            return [MemberCounts("mem_1", NOON, {"container_seconds": 7})]

    def snapshot(operation_id: str | None) -> InstanceSnapshot:
        place = {"id": "ins_1", "project_id": "prj_1", "created_at": NOON, "digest": "sha256:1"}
        members = [SimpleNamespace(id="mem_1", name="a", operation_id=operation_id, adapter_detail=None)]
        return Counted(cast("Any", SimpleNamespace(**place, runtime={METERING: UNITS})), cast("Any", members))

    app = Containers()
    assert await app.health(snapshot("opr_1")) is None
    after = await app.health(snapshot(None))
    assert after is not None
    assert after.runtime is not None
    assert [one.quantity for one in UsageCounters.read(after.runtime).usage] == [7]


@pytest.mark.parametrize("turns", range(8))
@pytest.mark.parametrize("checks", range(3))
def test_an_operation_that_is_killed_anywhere_and_cancelled_before_a_start_doubles_nothing(
    turns: int, checks: int
) -> None:
    story = Story()
    for number in (5, 0, 3):
        story.happen("count", "a", number)
        story.happen("whole check", "a", 0)
    story.happen("count", "a", 4)
    story.happen("operate", "a", 1)
    for _ in range(turns):
        story.happen("go on", "a", 0)
    story.happen("kill", "a", 0)
    for _ in range(checks):
        story.happen("whole check", "a", 0)
    story.happen("give up", "a", 0)
    story.happen("count", "a", 7)
    story.end()
    assert sum(one.quantity for one in story.cloud.recorded.values()) == story.cloud.counted["a"] == 19
