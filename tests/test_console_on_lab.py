"""What people do with a cluster, done in the console: a real browser, a real platform, real hosts and a real Slurm."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from gpuaas_sdk import NewAllocation
from gpuaas_sdk.testing.agents import SimulatedAgents
from gpuaas_slurm.controller import Slurm
from system_support.console.browser import Visitor, chromium, visitor
from system_support.console.requirements import require_browser
from system_support.echo_lab import at_work
from system_support.slurm_lab import USER, SlurmLab, slurm_lab, traces

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
HANG = 120_000.0  # milliseconds, after which nobody waits any more


@dataclass
class Story:
    """What later chapters know of earlier ones."""

    lab: SlurmLab
    mia: Visitor
    cluster: str = ""
    other: str = ""

    @property
    def page(self) -> Page:
        return self.mia.page

    def launch(self, name: str, host: int) -> str:
        """From the catalog, as one that has never been there: a cluster of one node. Its id."""
        place = self.lab.places[host]
        self.mia.visit("/catalog")
        self.page.get_by_role("link", name="Slurm").first.click()
        self.page.locator("main").get_by_role("link", name="Launch").or_(
            self.page.locator("main").get_by_role("button", name="Launch")
        ).first.click()
        self.page.get_by_label("Workload name").fill(name)
        self.page.get_by_role("button", name="Advanced").click()
        self.page.get_by_role("combobox", name=re.compile("^Packages")).click()
        self.page.get_by_role("option", name="host").click()
        for component in ("controller", "worker"):
            self.page.locator(f'[data-component="{component}"] [data-allocation="{place}"] input').check()
        self.page.get_by_role("button", name="Launch", exact=True).click()
        self.page.wait_for_url(re.compile("/workloads/ins_"))
        found = re.search(r"ins_[0-9a-z]{26}", self.page.url)
        assert found is not None
        return found[0]

    def state(self, word: str) -> Locator:
        """Of the page's own thing: the badge beside the title."""
        return self.page.locator("main header").get_by_text(word, exact=True).first

    def becomes(self, word: str) -> None:
        expect(self.state(word)).to_be_visible(timeout=HANG)

    def member(self, name: str) -> Locator:
        return self.page.get_by_role("table", name="Members").get_by_role("row").filter(has_text=name)

    def change(self, name: str, kind: str) -> None:
        """Of one member, from its row; then its operation is watched to the end."""
        self.mia.act(kind, name, self.page.locator(f'[data-member="{name}"]'))
        self.page.wait_for_url(re.compile("/operations/op_"))
        self.becomes("Succeeded")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    require_browser()
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def lab(browser: Browser) -> Iterator[SlurmLab]:
    slurm = Slurm()
    slurm.health_seconds = 1.0
    with slurm_lab("console", 3) as made, at_work(slurm, made.controller()):
        yield made


@pytest.fixture(scope="module")
def story(browser: Browser, lab: SlurmLab) -> Iterator[Story]:
    """Told by the administrator of the project, in one sitting."""
    with visitor(browser, lab.sandbox.server.url) as mia:
        mia.log_in(lab.sandbox.credentials("project_admin"))
        yield Story(lab, mia)
        assert mia.complaints == []


def test_a_cluster_is_launched_from_the_catalog_and_seen_to_run(story: Story) -> None:
    story.cluster = story.launch("research", 0)
    story.becomes("Running")
    expect(story.member("worker/1")).to_contain_text("Ready")
    expect(story.page.get_by_text("sudo -iu researcher sinfo -N")).to_be_visible()  # the way in, to copy
    assert story.lab.instance(story.cluster).status == "running"


def test_the_lines_of_the_cluster_that_was_launched_are_shown(story: Story) -> None:
    story.mia.visit(f"/workloads/{story.cluster}")
    story.page.get_by_role("button", name="Show logs").click()
    log = story.page.get_by_role("log")
    expect(log.get_by_text("Controller of a Slurm cluster").first).to_be_visible(timeout=HANG)
    story.page.get_by_label("Search in these lines").fill("munge")
    expect(log.get_by_text("Controller of a Slurm cluster")).to_have_count(0)


def test_a_command_is_run_in_the_terminal_of_an_allocation(story: Story) -> None:
    story.mia.visit(f"/allocations/{story.lab.places[0]}")
    story.mia.button("terminal_open").click()
    expect(story.page.locator('[data-terminal="open"]')).to_be_visible(timeout=HANG)
    screen = story.page.locator(".xterm-rows")
    # A colour that is in no palette: the policy of the page forbids style attributes, and must not be in its way.
    story.page.keyboard.type("printf '\\033[38;2;9;200;120mhere-%d\\033[0m ' $((6*7)); sudo sinfo -h -o %N\n")
    expect(screen).to_contain_text("here-42", timeout=HANG)
    expect(screen).to_contain_text("w1", timeout=HANG)
    expect(screen.locator("span", has_text="here-42").last).to_have_css("color", "rgb(9, 200, 120)")
    story.page.keyboard.type("exit 3\n")
    expect(story.page.get_by_text("Exit status 3")).to_be_visible(timeout=HANG)


def test_a_worker_is_added_drained_and_removed_and_its_host_is_proven_clean(story: Story) -> None:
    story.mia.visit(f"/workloads/{story.cluster}")
    dialog = story.mia.begin("member_operation_create")
    dialog.locator(f'[data-allocation="{story.lab.places[1]}"] input').check()
    dialog.locator("[data-submit]").click()
    story.page.wait_for_url(re.compile("/operations/op_"))
    story.becomes("Succeeded")
    for kind, after in (("drain", "Drained"), ("remove", "")):
        story.mia.visit(f"/workloads/{story.cluster}")
        story.change("worker/2", kind)
        if after:
            story.mia.visit(f"/workloads/{story.cluster}")
            expect(story.member("worker/2")).to_contain_text(after)
    expect(story.page.get_by_text("nothing is left")).to_be_visible(timeout=HANG)
    assert traces(story.lab.hosts[1]) == []
    story.mia.visit(f"/workloads/{story.cluster}")
    story.lab.rests(story.cluster)  # the cluster gets another key, because a worker has left
    assert [one.status for one in story.lab.rotations(story.cluster)] == ["succeeded"]
    expect(story.page.get_by_text("Reconcile in progress")).to_have_count(0, timeout=HANG)


def test_a_bootstrap_that_fails_says_why_and_works_when_that_is_settled(story: Story) -> None:
    host = story.lab.hosts[2]
    host.run(["useradd", "--no-create-home", "--uid", "4242", USER])
    story.other = story.launch("blocked", 2)
    story.becomes("Failed")
    problem = story.page.get_by_role("alert").filter(has_text="another uid, 4242").first
    expect(problem).to_be_visible()
    expect(problem).to_contain_text("apply_failed")
    host.run(["userdel", USER])
    story.mia.act("instance_deploy", "blocked")
    story.page.wait_for_url(re.compile("/operations/op_"))
    story.becomes("Succeeded")
    story.mia.visit(f"/workloads/{story.other}")
    story.becomes("Running")


def test_a_viewer_sees_the_same_and_is_offered_nothing(browser: Browser, story: Story) -> None:
    lab = story.lab
    with visitor(browser, lab.sandbox.server.url) as vera:
        vera.log_in(lab.sandbox.credentials("project_viewer"))
        for path in ("/", "/workloads", f"/workloads/{story.cluster}", f"/allocations/{lab.places[0]}"):
            vera.visit(path)
            assert vera.offered() == set(), path
        vera.visit(f"/workloads/{story.cluster}")
        vera.sees("research")
        vera.sees("worker/1")
        assert vera.complaints == []


def test_a_decommission_ends_with_a_receipt_for_every_member(story: Story) -> None:
    story.mia.visit(f"/workloads/{story.cluster}")
    story.mia.act("instance_decommission", "research")
    story.page.wait_for_url(re.compile("/operations/op_"))
    story.becomes("Succeeded")
    receipts = story.page.get_by_text("nothing is left")
    expect(receipts).to_have_count(2)  # of the controller and of the worker
    expect(story.page.locator("main").get_by_text("Clean", exact=True)).to_have_count(2)
    assert [traces(host) for host in story.lab.hosts[:2]] == [[], []]


@pytest.fixture
def newcomer(lab: SlurmLab) -> Iterator[SimulatedAgents]:
    """A host that cannot prove its wipe, until it is repaired. It speaks the real protocol, and breaks on demand."""
    sandbox = lab.sandbox
    bundle = sandbox.server.directory / "newcomer"
    bundle.write_text(sandbox.admin.enrolment_tokens.create(note="a new host").bundle or "")
    agents = SimulatedAgents(bundle, ["--nodes", "1", "--first-index", "700", "--fail-rate", "verify_wipe=1.0"])
    agents.start()
    try:
        yield agents
    finally:
        agents.kill()


def test_an_operator_approves_a_node_and_frees_what_is_blocked_on_it(
    browser: Browser, lab: SlurmLab, newcomer: SimulatedAgents
) -> None:
    sandbox = lab.sandbox
    with visitor(browser, sandbox.server.url) as olga:
        olga.log_in(sandbox.credentials("platform_admin"))
        olga.visit("/ops/nodes")
        olga.page.get_by_role("tab", name="Inventory").click()
        olga.page.get_by_role("link", name="sim-00700").click(timeout=HANG)
        olga.act("slot_approve", "sim-00700")
        expect(olga.page.get_by_role("row").filter(has_text="Available").first).to_be_visible(timeout=HANG)
        # The lab's hosts are all taken: this lands on the new one.
        made = sandbox.admin.allocations.create(lab.project_id, NewAllocation(sku="h100-node", name="short"))[0]
        settled(lab, made.id, "active")
        sandbox.admin.allocations.release(lab.project_id, made.id)
        olga.visit("/ops/blocked")
        expect(olga.page.get_by_role("row").filter(has_text="short")).to_be_visible(timeout=HANG)
        expect(olga.page.get_by_role("row").filter(has_text="sim-00700")).to_contain_text("0, 1, 2, 3, 4, 5, 6, 7")
        newcomer.arguments = newcomer.arguments[:-2]  # somebody has repaired the host
        newcomer.restart()
        olga.act("allocation_retry_release", "short")
        expect(olga.page.get_by_text("No blocked GPUs")).to_be_visible(timeout=HANG)
        assert olga.complaints == []


def settled(lab: SlurmLab, allocation: str, state: str) -> None:
    seen = [one.state for one in lab.sandbox.admin.allocations.follow(lab.project_id, [allocation], 60)]
    assert seen[-1] == state
