"""SIGKILL of the worker in the middle of a smoke launch: one instance, one outcome, and nothing is left."""

import os
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass

import pytest

from gpuaas_sdk import AppVersion, InstanceStarted, Placement
from gpuaas_sdk.testing import CatalogApp, Sandbox
from system_support.ledger import Ledger, until
from system_support.little_app import LittleApp
from system_support.server import RunningServer

# The last: in the transaction that records the outcome.
MOMENTS = ["launched", "deployed", "removing", "recording"]
SLOW = bool(os.environ.get("GPUAAS_TEST_SLOW"))


@dataclass
class SmokeSite:
    server: RunningServer
    sandbox: Sandbox
    app: LittleApp
    version: AppVersion
    allocation_id: str
    ledger: Ledger

    def kill_worker(self) -> None:
        self.server.kill("worker")

    def start(self) -> InstanceStarted:
        place = Placement(component_key="server", allocation_id=self.allocation_id)
        where = (self.sandbox.project_id, self.version.app_id, self.version.id)
        return self.app.admin.app_versions.smoke(*where, [place])

    def removal_of(self, instance_id: str) -> str:
        """The decommission, as soon as the worker has requested it."""
        query = "SELECT id FROM app_operations WHERE instance_id = %s AND kind = 'decommission'"
        return str(until(lambda: self.ledger.rows(query, instance_id), "the removal")[0]["id"])


@pytest.fixture(scope="module")
def site() -> Iterator[SmokeSite]:
    """Short leases: the work of a killed worker is taken over soon."""
    with RunningServer.start(work_lease_seconds="2", node_lost_seconds="600") as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        with sandbox.simulated_fleet(1):
            app = LittleApp.publish(sandbox.admin, sandbox.project_id)
            [found] = [one for one in sandbox.admin.apps.list(sandbox.project_id) if one.slug == app.slug]
            [version] = sandbox.admin.app_versions.list(sandbox.project_id, found.id)
            [allocation] = CatalogApp(sandbox, app.slug).allocate(1)
            yield SmokeSite(server, sandbox, app, version, allocation, Ledger(server.database_url()))


@pytest.mark.parametrize("moment", MOMENTS if SLOW else MOMENTS[1::2])
def test_a_smoke_launch_outlives_a_kill_of_the_worker_and_has_one_outcome(site: SmokeSite, moment: str) -> None:
    started = site.start()
    instance_id = started.instance.id
    if moment == "launched":
        site.kill_worker()
    site.app.say_done(started.operation.id)
    if moment == "deployed":
        site.kill_worker()
    removal = site.removal_of(instance_id)
    if moment == "removing":
        site.kill_worker()
    evidence = site.ledger.lock("SELECT 1 FROM artifacts WHERE digest = %s FOR UPDATE", site.version.artifact_digest)
    with evidence if moment == "recording" else nullcontext():
        site.app.say_done(removal)
        if moment == "recording":
            until(lambda: site.ledger.rows("SELECT 1 FROM pg_locks WHERE NOT granted"), "the worker in its transaction")
            site.kill_worker()
    outcome = site.app.admin.app_versions.wait_for_smoke(site.version, started, 60.0)
    assert (outcome.passed, outcome.source, outcome.operation_id) == (True, "platform", started.operation.id)
    until(lambda: not site.ledger.rows("SELECT 1 FROM work_items WHERE kind = 'smoke_launch'"), "the end of the work")
    kinds = "SELECT kind, status FROM app_operations WHERE instance_id = %s ORDER BY id"
    ended = [(row["kind"], row["status"]) for row in site.ledger.rows(kinds, instance_id)]
    assert ended == [("deploy", "succeeded"), ("decommission", "succeeded")]
    recorded = "SELECT 1 FROM artifact_evidence WHERE operation_id IN (%s, %s)"
    assert len(site.ledger.rows(recorded, started.operation.id, removal)) == 1
    living = "SELECT id FROM app_instances WHERE decommissioned_at IS NULL"
    assert site.ledger.rows(living) == [], "another instance, or one that was not removed"
    members = "SELECT 1 FROM app_members WHERE instance_id = %s AND status <> 'removed'"
    assert site.ledger.rows(members, instance_id) == []
