"""A Slurm cluster that serves two projects, on real hosts: a worker on each one's allocation, an account for each."""

import secrets
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from gpuaas_sdk import Event, NewAllocation, NewMemberOperation, wait_for
from gpuaas_sdk.testing import as_replica, crashing_replica
from gpuaas_slurm.controller import Slurm
from system_support.echo_lab import at_work
from system_support.lab_site import lab_site
from system_support.slurm_lab import LAYER, MANIFEST, SlurmLab, packages, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]


@dataclass
class Shared:
    """The cluster's own project is the lab's; `other` is the second, with the second host."""

    lab: SlurmLab
    other: str
    slug: str
    instance: str = ""
    at_work: ExitStack = field(default_factory=ExitStack)  # the project's controller, until it is to end

    @property
    def account(self) -> str:
        return f"project-{self.slug}"

    @property
    def home_account(self) -> str:
        home = self.lab.sandbox.admin.projects.show(self.lab.project_id)
        return f"project-{home.slug}"

    def run(self, account: str, host: int, *options: str) -> str:
        said = ["sh", "-c", "sleep 2; hostname"]
        return self.lab.as_user("srun", "-Q", "--input=none", f"--account={account}", *options, *said, host=host)

    def totals(self, project_id: str) -> dict[str, int]:
        found = self.lab.sandbox.admin.app_usage.totals(project_id, instance_id=self.instance)
        return {one.metric: one.quantity for one in found}

    def told_usage(self) -> list[Event]:
        """What the second project's people hear of it."""
        told = self.lab.sandbox.admin.events.page(self.other, tail=100).items
        return [one for one in told if one.type == "app_usage.recorded"]

    def state(self, allocation_id: str) -> str:
        return self.lab.sandbox.admin.allocations.show(self.other, allocation_id).state

    def accounted(self, *accounts: str) -> int:
        """Runs that have ended, as Slurm itself counts them; without accounts, of all."""
        ended = [account for account, _ in self._ended()]
        return sum(account in accounts for account in ended) if accounts else len(ended)

    def run_and_accounted(self, account: str) -> None:
        """The accounting hears of an end a moment after it, and of all ends in their order."""
        name = f"n{secrets.token_hex(4)}"
        self.run(account, 0, f"--job-name={name}")
        self.lab.comes(lambda: name in [job for _, job in self._ended()], "its end in the accounting")

    def _ended(self) -> list[tuple[str, str]]:
        """The account and the name of each."""
        asked = ["sacct", "-a", "-X", "-D", "-P", "-n", "-S", "1970-01-02", "-o", "State,Account,JobName"]
        lines = (line.split("|") for line in self.lab.hosts[0].run(asked).stdout.splitlines())
        return [(account, name) for state, account, name in lines if state not in ("RUNNING", "PENDING")]


@pytest.fixture(scope="module")
def shared() -> Iterator[Shared]:
    with lab_site("slurm-prj", 2, LAYER) as (sandbox, fleet):
        lab = SlurmLab(sandbox, Slurm.slug)
        lab.publish(MANIFEST, packages())
        slug = f"serve-{secrets.token_hex(3)}"
        other = sandbox.admin.projects.create(sandbox.tenant_id, slug, "Serving")
        [first] = lab.allocate(1, "h100-node", None)
        [made] = sandbox.admin.allocations.create(other.id, NewAllocation(sku="h100-node"))
        *_, last = sandbox.admin.allocations.follow(other.id, [made.id], 120)
        assert last.state == "active"
        node = sandbox.admin.nodes.show(sandbox.admin.allocations.show(lab.project_id, first).node_id or "")
        fleet.hosts.sort(key=lambda host: host.name != node.name)  # the cluster's own comes first
        lab.fleet, lab.places = fleet, [first, made.id]
        yield Shared(lab, other.id, slug)


@pytest.fixture(scope="module")
def at_work_here(shared: Shared) -> Iterator[None]:
    slurm = Slurm()
    slurm.health_seconds = 1.0
    with shared.at_work:
        shared.at_work.enter_context(at_work(slurm, shared.lab.controller()))
        shared.instance = shared.lab.launched("shared", [0], packages="host", accounting=True)
        yield


def test_a_second_project_gets_a_worker_an_account_and_its_own_usage(shared: Shared, at_work_here: None) -> None:
    lab, admin = shared.lab, shared.lab.sandbox.admin
    serving = admin.instances.set_served_project(lab.project_id, shared.instance, shared.other)
    assert serving.operation is not None
    lab.succeeds(serving.operation)
    change = NewMemberOperation(kind="add", component_key="worker", allocation_ids=[lab.places[1]])
    lab.succeeds(lab.change_members(shared.instance, change))
    theirs = lab.node(shared.instance, 1)
    assert shared.run(shared.account, 1, "-w", theirs, "--gres=gpu:2", "-n1") == lab.hosts[1].name
    assert shared.run(shared.home_account, 0, "-w", theirs) == lab.hosts[1].name  # who pays is said by the account
    lab.comes(lambda: shared.totals(shared.other).get("jobs") == 1, "the other project's usage")
    theirs_used = shared.totals(shared.other)
    assert (theirs_used["cpu_seconds"] >= 2, theirs_used["gpu_seconds"] >= 4) == (True, True), theirs_used
    mine = lab.project_id
    lab.comes(lambda: shared.totals(mine).get("jobs") == shared.accounted() - 1, "its own usage")
    lab.comes(lambda: len(shared.told_usage()) == 1, "the event")
    [event] = shared.told_usage()
    assert event.data["instance_id"] == shared.instance


def test_people_of_the_second_project_find_how_to_work_and_can_operate_nothing(shared: Shared) -> None:
    lab, admin = shared.lab, shared.lab.sandbox.admin
    [seen] = list(admin.instances.list(shared.other, served=True))
    shown = admin.instances.show(shared.other, seen.id)
    assert (shown.id, shown.allowed_actions) == (shared.instance, [])
    projects = (shown.access_bundle or {})["projects"]
    assert isinstance(projects, list)
    [theirs] = [one for one in projects if one["project"] == shared.slug]
    assert (theirs["account"], theirs["shell"]) == (shared.account, f"gpuaas allocations ssh {lab.places[1]}")
    inner = str(theirs["run"]).partition(" -- ")[2].split()
    assert lab.hosts[1].run(["timeout", "60", *inner], check=False, timeout=65).returncode == 0


def test_the_release_of_its_allocation_takes_the_worker_out_of_the_cluster_first(shared: Shared) -> None:
    lab, admin = shared.lab, shared.lab.sandbox.admin
    theirs = lab.node(shared.instance, 1)
    admin.allocations.release(shared.other, lab.places[1])
    lab.comes(lambda: shared.state(lab.places[1]) == "released", "the release", 120)
    lab.rests(shared.instance)
    assert theirs not in lab.nodes()
    [receipt] = list(admin.receipts.list(shared.other, allocation_id=lab.places[1]))
    [same] = list(admin.receipts.list(lab.project_id, instance_id=shared.instance))
    assert (receipt.id, receipt.status) == (same.id, "clean")


def test_an_account_that_is_closed_takes_no_new_jobs_and_is_opened_again(shared: Shared) -> None:
    lab, calls = shared.lab, shared.lab.sandbox.admin.instances
    known = lab.key()
    left = calls.remove_served_project(lab.project_id, shared.instance, shared.other)
    assert left.operation is not None
    lab.succeeds(left.operation)
    assert lab.rotation_after(left.operation).status == "succeeded"
    assert lab.key() != known, "what the people of that project may have read on their own host opens nothing"
    refused = shared.run(shared.account, 0)
    assert "error" in refused, refused
    assert shared.run(shared.home_account, 0) == lab.hosts[0].name
    again = calls.set_served_project(lab.project_id, shared.instance, shared.other)
    assert again.operation is not None
    lab.succeeds(again.operation)
    assert shared.run(shared.account, 0) == lab.hosts[0].name


def test_nothing_is_lost_or_doubled_when_the_controller_is_killed_at_every_step_of_the_end(
    shared: Shared, tmp_path: Path
) -> None:
    lab, calls = shared.lab, shared.lab.sandbox.admin.instances
    running = lab.submitted(f"--account={shared.account}")  # cancelled with the cluster, and paid for until then
    lab.comes(lambda: lab.job(running) == "RUNNING", "the job")
    shared.run_and_accounted(shared.home_account)
    shared.at_work.close()
    theirs, everybody = shared.accounted(shared.account), shared.accounted()
    settings = as_replica(lab.controller("killed"), "crashing")
    with crashing_replica("gpuaas_slurm.controller:Slurm", settings, tmp_path, at=("step_done",)) as replica:
        gone = calls.decommission(lab.project_id, shared.instance).operation
        lab.succeeds(gone)
        assert "usage" in {crash.step for crash in replica.crashes}
    wait_for(lambda: shared.totals(shared.other)["jobs"] == theirs + 1 or None, 30, what="the other project's usage")
    assert shared.totals(lab.project_id)["jobs"] == everybody - theirs
    assert traces(lab.hosts[0]) == []
