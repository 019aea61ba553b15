"""Usage reports of a controller: in batches, repeated after a crash, and not blocked by records that are refused."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from gpuaas_sdk.controller import AppController, ControllerClient, Health, InstanceSnapshot, UsageReport
from gpuaas_sdk.controller.health_checks import check_instances, take_turns
from gpuaas_sdk.controller.served_apps import ServedApps
from gpuaas_sdk.controller.usage import BATCH, report_usage
from gpuaas_sdk.errors import Conflict, Problem, ServerFailed
from gpuaas_sdk.generated.models import ServedInstance

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def usage_record(key: str, quantity: int = 1) -> UsageReport:
    what = {"metric": "echoes", "unit": "count", "project_id": "prj_1"}
    return UsageReport(source_key=key, quantity=quantity, started_at=NOON, ended_at=NOON, **what)


@dataclass
class Platform:
    """Answers as the server does: each key counts once, other content under it is refused, a batch is all or nothing."""

    known: dict[str, UsageReport] = field(default_factory=dict)
    batches: list[int] = field(default_factory=list)
    down: bool = False

    async def report_usage(self, project_id: str, instance_id: str, records: Sequence[UsageReport]) -> object:
        if self.down:
            raise ServerFailed(Problem(code="unavailable", status=503, detail="away", retryable=True))
        others = [one.source_key for one in records if self.known.get(one.source_key, one) != one]
        if others:
            details = {"source_keys": others[:20]}
            raise Conflict(Problem(code="usage_key_taken", status=409, detail="taken", details=details))
        fresh = {one.source_key: one for one in records if one.source_key not in self.known}
        self.known |= fresh
        self.batches.append(len(records))
        return SimpleNamespace(recorded=len(fresh))

    @property
    def client(self) -> ControllerClient:
        return ControllerClient(cast("object", SimpleNamespace(controller=self)), "prj_1", "replica-1")  # type: ignore[arg-type]


async def test_many_records_go_in_batches_and_again_they_add_nothing() -> None:
    platform, records = Platform(), [usage_record(str(n)) for n in range(BATCH + 1)]
    assert await report_usage(platform.client.api, "prj_1", "ins_1", records) == BATCH + 1
    assert platform.batches == [BATCH, 1]
    assert await report_usage(platform.client.api, "prj_1", "ins_1", records) == 0


async def test_a_refused_record_does_not_block_the_others() -> None:
    platform = Platform(known={str(n): usage_record(str(n), 7) for n in range(30)})
    records = [*(usage_record(str(n)) for n in range(30)), usage_record("new")]
    assert await report_usage(platform.client.api, "prj_1", "ins_1", records) == 1
    assert platform.known["3"].quantity == 7


async def test_an_unavailable_platform_is_reported_to_the_caller() -> None:
    with pytest.raises(ServerFailed):
        await report_usage(Platform(down=True).client.api, "prj_1", "ins_1", [usage_record("1")])


@dataclass
class Pages:
    found: list[object]

    async def all(self) -> list[object]:
        return self.found


@dataclass
class PlatformWithInstances(Platform):
    """A platform with running instances; `runtimes` has the runtime of each health report."""

    runtimes: list[object] = field(default_factory=list)
    ids: tuple[str, ...] = ("ins_1",)

    async def instances(self, *place: object, **wanted: object) -> AsyncIterator[object]:
        for one in self.ids:
            yield self._instance(one)

    def members(self, *place: object) -> Pages:
        return Pages([])

    async def show(self, project_id: str, instance_id: str) -> object:
        return self._instance(instance_id)

    def _instance(self, instance_id: str) -> object:
        known = {"id": instance_id, "project_id": "prj_1", "tenant_id": "ten_1", "runtime": None}
        return SimpleNamespace(**known, operation_id=None, generation=1)

    async def report_health(self, *place: object, **report: object) -> None:
        self.runtimes.append(report["runtime"])

    @property
    def client(self) -> ControllerClient:
        api = SimpleNamespace(controller=self, instances=self)
        return ControllerClient(cast("object", api), "prj_1", "replica-1")  # type: ignore[arg-type]


@dataclass
class Counts(AppController):
    slug = "echo"
    last: Health | None = None

    async def health(self, snapshot: InstanceSnapshot) -> Health:
        self.last = Health(usage=[usage_record("1")], runtime={"from": 7})
        return self.last


async def test_the_usage_position_is_reported_only_when_the_usage_was_recorded() -> None:
    platform, app = PlatformWithInstances(down=True), Counts()
    for down, runtime, recorded in ((True, None, False), (False, {"from": 7}, True)):
        platform.down = down
        assert await check_instances(app, platform.client, ServedApps(app, platform.client)) == 1
        assert app.last is not None
        assert (platform.runtimes[-1], app.last.usage_recorded) == (runtime, recorded)
    assert list(platform.known) == ["1"]


class PartialCounts(Counts):
    """It cannot say anything about the first instance yet."""

    async def health(self, snapshot: InstanceSnapshot) -> Health | None:
        return None if snapshot.instance.id == "ins_1" else await super().health(snapshot)


async def test_an_instance_without_a_result_does_not_block_the_others() -> None:
    platform = PlatformWithInstances(ids=("ins_1", "ins_2"))
    app = PartialCounts()
    assert await check_instances(app, platform.client, ServedApps(app, platform.client)) == 1
    assert list(platform.known) == ["1"]


class BrokenCounts(Counts):
    """What the hosts of the first instance send breaks its check; the second one's does not end."""

    async def health(self, snapshot: InstanceSnapshot) -> Health | None:
        if snapshot.instance.id == "ins_1":
            raise ValueError("nobody expects this")
        if snapshot.instance.id == "ins_2":
            await asyncio.Event().wait()
        return await super().health(snapshot)


async def test_a_check_that_breaks_or_does_not_end_holds_up_no_other_instance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuaas_sdk.controller.health_checks.CHECK_SECONDS", 0.1)
    platform = PlatformWithInstances(ids=("ins_1", "ins_2", "ins_3"))
    app = BrokenCounts()
    assert await check_instances(app, platform.client, ServedApps(app, platform.client)) == 1
    assert list(platform.known) == ["1"]


def test_instances_are_checked_in_turns_of_their_tenants() -> None:
    served = [ServedInstance(id=f"{tenant}{number}", tenant_id=tenant) for tenant in "aab" for number in range(2)]
    assert [one.id for one in take_turns(served)] == ["a0", "b0", "a1", "b1", "a0", "a1"]
