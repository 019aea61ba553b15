"""SIGKILL of a controller between reading counters, recording usage and keeping its position: nothing is lost or doubled."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gpuaas_sdk import UsageRecord
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox, crashing_replica

TIMES = 2  # that it is killed at each point
POINTS = ("read", "recorded", "kept")
MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Counts
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {}
components: [{key: head, min: 1, max: 1}]
footprint: {units: [counts.service]}
metering: [{key: tokens, unit: count}]
"""
# `count` beside the program is the counter of a host. It is killed once the platform has answered, and before.
APP = """\
import os
import signal
from datetime import UTC, datetime
from pathlib import Path

from gpuaas_sdk.controller import AppController, Counter, Health, UsageCounters, health_checks

FOLDER = Path(__file__).parent
record_usage, report_health = health_checks.report_usage, health_checks._report_health


def kill(point):
    with (FOLDER / "kills").open("a+") as file:
        file.seek(0)
        if file.read().split().count(point) == {times}:
            return
        file.write(point + "\\n")
    os.kill(os.getpid(), signal.SIGKILL)


async def record_and_die(api, project_id, instance_id, records):
    recorded = await record_usage(api, project_id, instance_id, records)
    if recorded:
        kill("recorded")
    return recorded


async def keep_and_die(*arguments):
    await report_health(*arguments)
    kill("kept")


health_checks.report_usage, health_checks._report_health = record_and_die, keep_and_die


class Counts(AppController):
    slug = "{slug}"
    health_seconds = 0.1

    async def deploy(self, ctx):
        counters = UsageCounters()
        counters.start_at_zero(Counter("tokens", "count", ctx.lease.project_id), datetime.now(UTC))
        ctx.set_runtime(**counters.document())

    async def health(self, snapshot):
        runtime = dict(snapshot.instance.runtime or {})
        counters = UsageCounters.read(runtime)
        counter = Counter("tokens", "count", snapshot.instance.project_id)
        counters.observe(counter, int((FOLDER / "count").read_text()), datetime.now(UTC))
        kill("read")
        return Health(usage=counters.usage, runtime=runtime | counters.document())
"""


@pytest.fixture(scope="module")
def catalog_app(server: RunningServer) -> Iterator[CatalogApp]:
    sandbox = Sandbox.create(server)
    sandbox.offer()
    with sandbox.simulated_fleet(1):
        catalog_app = CatalogApp(sandbox, f"counts-{sandbox.project_id[-6:].lower()}")
        catalog_app.publish(MANIFEST.replace("{slug}", catalog_app.slug), b"counts")
        yield catalog_app


def test_a_controller_that_is_killed_around_a_report_of_usage_loses_and_doubles_nothing(
    catalog_app: CatalogApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = APP.replace("{slug}", catalog_app.slug).replace("{times}", str(TIMES))
    (tmp_path / "counts_app.py").write_text(program)
    (tmp_path / "count").write_text("0")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    [place] = catalog_app.allocate(1)
    client, counted = catalog_app.sandbox.admin, 0
    with crashing_replica("counts_app:Counts", catalog_app.controller("phoenix"), tmp_path, at=()):
        instance, deploy = catalog_app.deploy("counts", [("head", place)])
        assert catalog_app.ended(deploy, 60).status == "succeeded"

        def killed() -> bool:
            """Meanwhile the host goes on counting."""
            nonlocal counted
            counted += 7
            replace_text(tmp_path / "count", str(counted))
            kills = tmp_path / "kills"
            return kills.exists() and sorted(kills.read_text().split()) == sorted(POINTS * TIMES)

        client.wait_for(killed, 60, "the controller to be killed at each point")

        def records() -> list[UsageRecord]:
            return list(client.app_usage.list(catalog_app.project_id, instance_id=instance))

        client.wait_for(lambda: sum(one.quantity for one in records()) >= counted, 30, "all that was counted")
        position = catalog_app.instance(instance).runtime
        client.wait_for(lambda: catalog_app.instance(instance).runtime != position, 30, "another check")
        found = sorted(records(), key=lambda one: one.started_at)
    assert sum(one.quantity for one in found) == counted
    assert len(found) > TIMES, "several reports"
    assert all(one.ended_at <= after.started_at for one, after in pairwise(found)), "no two are about the same time"


def replace_text(path: Path, text: str) -> None:
    """Replace the file as a whole: a reader sees the old text or the new one."""
    fresh = path.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(path)
