"""The helper that kills a controller at chosen points: it crashes once at each, and the operation still succeeds."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gpuaas_sdk.testing import CRASH_POINTS, CatalogApp, Crash, RunningServer, Sandbox, crashing_replica

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

    async def deploy(self, ctx):
        for name in ("one", "two"):
            async with ctx.step(name):
                print(name, flush=True)
"""


@pytest.fixture(scope="module")
def catalog_app(server: RunningServer) -> Iterator[CatalogApp]:
    sandbox = Sandbox.create(server)
    sandbox.offer()
    with sandbox.simulated_fleet(1):
        catalog_app = CatalogApp(sandbox, f"steps-{sandbox.project_id[-6:].lower()}")
        catalog_app.publish(MANIFEST.replace("{slug}", catalog_app.slug), b"steps")
        yield catalog_app


def test_a_controller_crashes_once_at_every_point_and_the_operation_still_succeeds(
    catalog_app: CatalogApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "steps_app.py").write_text(APP.replace("{slug}", catalog_app.slug))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [place] = catalog_app.allocate(1)
    settings = catalog_app.controller("phoenix")
    with crashing_replica("steps_app:Steps", settings, tmp_path) as replica:
        _, deploy = catalog_app.deploy("steps", [("head", place)])
        done = catalog_app.ended(deploy, 60)
        catalog_app.sandbox.admin.wait_for(lambda: len(replica.crashes) == 9, 20, "the crash after the end")
        crashes = replica.crashes
    assert (done.status, done.attempt, done.replica) == ("succeeded", 9, "phoenix")
    for point in CRASH_POINTS:
        steps = ("one", "two") if point in ("step_started", "step_done", "step_reported") else ("",)
        assert [one for one in crashes if one.point == point] == [Crash("deploy", point, step) for step in steps]
    worked = (tmp_path / "phoenix.log").read_text().split()
    assert set(worked) >= {"one", "two"}
    assert worked.count("one") > worked.count("two") > 1  # from its beginning, each time


def test_an_unknown_crash_point_is_refused(catalog_app: CatalogApp, tmp_path: Path) -> None:
    with (
        pytest.raises(ValueError, match="no such crash point: noon"),
        crashing_replica("a:B", catalog_app.controller(), tmp_path, at=["noon"]),
    ):
        pass
