"""The helper that kills a controller at chosen moments: it does, once at each, and the work comes to its end."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_sdk.testing import MOMENTS, Death, RunningServer, Stage, World, mortal

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


def test_a_controller_dies_once_at_every_moment_and_the_operation_still_succeeds(
    stage: Stage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps_app.py").write_text(APP.replace("{slug}", stage.slug))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [place] = stage.allocate(1)
    settings = stage.controller("phoenix")
    with mortal("steps_app:Steps", settings, tmp_path) as replica:
        _, deploy = stage.deploy("steps", [("head", place)])
        done = stage.ended(deploy, 60)
        stage.world.admin.wait_for(lambda: len(replica.deaths) == 9, 20, "the death after the end")
        deaths = replica.deaths
    assert (done.status, done.attempt, done.replica) == ("succeeded", 9, "phoenix")
    for moment in MOMENTS:
        steps = ("one", "two") if moment in ("begun", "worked", "told") else ("",)
        assert [one for one in deaths if one.moment == moment] == [Death("deploy", moment, step) for step in steps]
    worked = (tmp_path / "phoenix.log").read_text().split()
    assert set(worked) >= {"one", "two"}
    assert worked.count("one") > worked.count("two") > 1  # from its beginning, each time


def test_a_moment_that_there_is_not_is_refused(stage: Stage, tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="no such moment: noon"),
        mortal("a:B", stage.controller(), tmp_path, at=["noon"]),
    ):
        pass
