"""Usage that a controller tells: in batches, again after a crash, and not kept back by what can never be taken."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import cast

import pytest

from gpuaas_sdk.controller import AppController, Health, Line, UsageReport, Watched
from gpuaas_sdk.controller.rounds import health_round
from gpuaas_sdk.controller.usage import BATCH, report_usage
from gpuaas_sdk.errors import Conflict, Problem, ServerFailed

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def used(key: str, quantity: int = 1) -> UsageReport:
    what = {"metric": "echoes", "unit": "count", "project_id": "prj_1"}
    return UsageReport(source_key=key, quantity=quantity, started_at=NOON, ended_at=NOON, **what)


@dataclass
class Platform:
    """As the server answers: each key once, another content under it refused by name, a batch whole or not at all."""

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
    def line(self) -> Line:
        return Line(cast("object", SimpleNamespace(controller=self)), "prj_1", "replica-1")  # type: ignore[arg-type]


async def test_many_records_go_in_batches_and_again_they_add_nothing() -> None:
    platform, records = Platform(), [used(str(n)) for n in range(BATCH + 1)]
    assert await report_usage(platform.line, "ins_1", records) == BATCH + 1
    assert platform.batches == [BATCH, 1]
    assert await report_usage(platform.line, "ins_1", records) == 0


async def test_what_can_never_be_taken_does_not_keep_the_others_back() -> None:
    platform = Platform(known={str(n): used(str(n), 7) for n in range(30)})
    records = [*(used(str(n)) for n in range(30)), used("new")]
    assert await report_usage(platform.line, "ins_1", records) == 1
    assert platform.known["3"].quantity == 7


async def test_a_platform_that_is_away_is_the_callers_business() -> None:
    with pytest.raises(ServerFailed):
        await report_usage(Platform(down=True).line, "ins_1", [used("1")])


@dataclass
class Pages:
    found: list[object]

    async def all(self) -> list[object]:
        return self.found


@dataclass
class Watching(Platform):
    """A platform with instances at rest; `told` is what it heard of their runtime."""

    told: list[object] = field(default_factory=list)
    ids: tuple[str, ...] = ("ins_1",)

    def list(self, *place: object, **wanted: object) -> Pages:
        return Pages([self._instance(one) for one in self.ids])

    def members(self, *place: object) -> Pages:
        return Pages([])

    async def show(self, project_id: str, instance_id: str) -> object:
        return self._instance(instance_id)

    def _instance(self, instance_id: str) -> object:
        return SimpleNamespace(id=instance_id, operation_id=None, generation=1)

    async def report_health(self, *place: object, **said: object) -> None:
        self.told.append(said["runtime"])

    @property
    def line(self) -> Line:
        client = SimpleNamespace(controller=self, instances=self)
        return Line(cast("object", client), "prj_1", "replica-1")  # type: ignore[arg-type]


@dataclass
class Counts(AppController):
    last: Health | None = None

    async def health(self, watched: Watched) -> Health:
        self.last = Health(usage=[used("1")], runtime={"from": 7})
        return self.last


async def test_how_far_usage_was_told_is_told_only_when_it_was_recorded() -> None:
    platform, app = Watching(down=True), Counts()
    for down, runtime, recorded in ((True, None, False), (False, {"from": 7}, True)):
        platform.down = down
        assert await health_round(app, platform.line) == 1
        assert app.last is not None
        assert (platform.told[-1], app.last.recorded) == (runtime, recorded)
    assert list(platform.known) == ["1"]


class Shy(Counts):
    """Of the first nothing can be said yet."""

    async def health(self, watched: Watched) -> Health | None:
        return None if watched.instance.id == "ins_1" else await super().health(watched)


async def test_an_instance_of_which_nothing_can_be_said_keeps_no_other_from_being_looked_at() -> None:
    platform = Watching(ids=("ins_1", "ins_2"))
    assert await health_round(Shy(), platform.line) == 1
    assert list(platform.known) == ["1"]
