"""The helper that kills a controller at chosen points: it crashes once at each, and the operation still succeeds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_sdk.testing import CRASH_POINTS, Crash, RunningServer, Stage, World, crashing_replica

MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Steps
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {}
components: [{key: head, min: 1, max: 1}]
footprint: {units: [steps.service]}
"""
APP = """\
from gpuaas_sdk.controller import AppController


class Steps(AppController):
    slug = "{slug}"

    async def bootstrap(self, ctx):
        for name in ("one", "two"):
            async with ctx.step(name):
                print(name, flush=True)
"""


@pytest.fixture(scope="module")
def stage(server: RunningServer) -> Iterator[Stage]:
    world = World.create(server)
    world.offer()
    with world.simulated_fleet(1):
        stage = Stage(world, f"steps-{world.project_id[-6:].lower()}")
        stage.publish(MANIFEST.replace("{slug}", stage.slug), b"steps")
        yield stage


def test_a_controller_crashes_once_at_every_point_and_the_operation_still_succeeds(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps_app.py").write_text(APP.replace("{slug}", stage.slug))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [place] = stage.allocate(1)
    settings = stage.controller("phoenix")
    with crashing_replica("steps_app:Steps", settings, tmp_path) as replica:
        _, deploy = stage.deploy("steps", [("head", place)])
        done = stage.ended(deploy, 60)
        stage.world.admin.wait_for(lambda: len(replica.crashes) == 9, 20, "the crash after the end")
        crashes = replica.crashes
    assert (done.status, done.attempt, done.replica) == ("succeeded", 9, "phoenix")
    for point in CRASH_POINTS:
        steps = ("one", "two") if point in ("step_started", "step_done", "step_reported") else ("",)
        assert [one for one in crashes if one.point == point] == [Crash("deploy", point, step) for step in steps]
    worked = (tmp_path / "phoenix.log").read_text().split()
    assert set(worked) >= {"one", "two"}
    assert worked.count("one") > worked.count("two") > 1  # from its beginning, each time


def test_an_unknown_crash_point_is_refused(stage: Stage, tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="no such crash point: noon"),
        crashing_replica("a:B", stage.controller(), tmp_path, at=["noon"]),
    ):
        pass
