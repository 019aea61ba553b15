"""The console in a real browser: every page, in both themes, for those who see it, hear it, or have no mouse."""

import re
import secrets
import time
from collections.abc import Iterator
from importlib.resources import files

import pytest
from playwright.sync_api import Browser, Locator, Page, ViewportSize, expect

from gpuaas_sdk import NewAllocation
from gpuaas_sdk.testing import RunningServer
from system_support.console.axe import violations
from system_support.console.browser import Visitor, chromium, visitor
from system_support.console.requirements import require_browser
from system_support.console.sample_cloud import SampleCloud, sample_cloud
from system_support.parity.pages import routes

pytestmark = pytest.mark.timeout(300)
PHONE = ViewportSize(width=360, height=740)
DESK = ViewportSize(width=1280, height=800)
HANG = 30_000.0  # milliseconds, after which nobody waits any more; what is promised is measured and printed


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    require_browser()
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def cloud(browser: Browser) -> Iterator[SampleCloud]:
    with RunningServer.start(login_rate_per_minute="100000") as server, sample_cloud(server) as made:
        yield made


@pytest.fixture
def mia(browser: Browser, cloud: SampleCloud) -> Iterator[Visitor]:
    """The administrator of the project."""
    with visitor(browser, cloud.url) as made:
        made.log_in(cloud.people["project_admin"])
        yield made
        assert made.complaints == []


def faults_of(made: Visitor, name: str) -> list[str]:
    """Of the page that is open: what axe says, and whether it is wider than a phone."""
    found = [f"{name}: {one}" for one in violations(made.page)]
    made.page.set_viewport_size(PHONE)
    wide = narrowed(made.page)
    if wide > PHONE["width"]:
        found.append(f"{name}: {wide} px wide on a phone of {PHONE['width']}")
    found += [f"{name} on a phone: {one}" for one in violations(made.page)]
    made.page.set_viewport_size(DESK)
    return found


def narrowed(page: Page) -> int:
    """How wide the page is, once what draws itself anew for its width has done so."""
    deadline = time.monotonic() + HANG / 1000
    while (wide := int(page.evaluate("document.scrollingElement.scrollWidth"))) > PHONE["width"]:
        if time.monotonic() > deadline:
            break
        page.wait_for_timeout(50)
    return wide


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_can_be_used_by_everybody_on_a_desk_and_on_a_phone(
    browser: Browser, cloud: SampleCloud, dark: bool
) -> None:
    faults: list[str] = []
    titles: set[str] = set()
    for who, paths in (("project_admin", cloud.routes()), ("operator", cloud.operator_routes())):
        with visitor(browser, cloud.url, dark=dark) as made:
            made.page.goto(f"{cloud.url}/login")
            expect(made.page.get_by_role("heading", level=1)).to_be_visible()
            faults += faults_of(made, "login")
            made.log_in(cloud.people[who])
            for name, path in paths.items():
                made.visit(path)
                faults += faults_of(made, name)
                titles.add(made.page.title())
                faults += [f"{name}: {one}" for one in made.complaints]
                made.complaints.clear()
    assert not faults, "\n".join(faults)
    assert len(titles) == len(cloud.routes()) + len(cloud.operator_routes())  # each page has a title of its own
    assert forgotten(["/login", *cloud.routes().values(), *cloud.operator_routes().values()]) == []


def forgotten(seen: list[str]) -> list[str]:
    """Pages of the console that nobody has looked at."""
    patterns = {route: re.compile(re.sub(r":\w+", "[^/]+", route)) for route in routes()}
    return [route for route, pattern in patterns.items() if not any(pattern.fullmatch(path) for path in seen)]


def test_an_address_that_leads_nowhere_says_so_and_a_stranger_is_asked_to_log_in(
    browser: Browser, cloud: SampleCloud, mia: Visitor
) -> None:
    mia.page.goto(f"{cloud.url}/no/such/page")
    expect(mia.page.get_by_role("heading", level=1)).to_be_visible()
    assert violations(mia.page) == []
    with visitor(browser, cloud.url) as stranger:
        stranger.page.goto(f"{cloud.url}/workloads/{cloud.cluster}")
        expect(stranger.page).to_have_url(re.compile("/login"))
        stranger.page.get_by_label("E-mail").fill("nobody@acme.example")
        stranger.page.get_by_label("Password", exact=True).fill("not the password")
        stranger.page.get_by_role("button", name="Log in").click()
        expect(stranger.page.get_by_role("alert")).to_be_visible()


OF_ONESELF = {"Add a key", "Change password"}


def test_a_viewer_is_offered_no_action_on_any_page(browser: Browser, cloud: SampleCloud) -> None:
    with visitor(browser, cloud.url) as vera, visitor(browser, cloud.url) as mia:
        vera.log_in(cloud.people["project_viewer"])
        mia.log_in(cloud.people["project_admin"])
        offered: set[str] = set()
        for name, path in cloud.routes().items():
            vera.visit(path)
            assert vera.offered() == (OF_ONESELF if name == "credentials" else set()), name
            mia.visit(path)
            offered |= mia.offered()
        # The same pages do offer something, to who may.
        assert {"instance_stop", "instance_decommission", "member_operation_create", "allocation_release"} <= offered
        assert "Add a member" in offered


def test_what_an_operator_sees_is_closed_to_others(cloud: SampleCloud, mia: Visitor) -> None:
    for path in ("/ops/nodes", "/ops/blocked"):
        mia.visit(path)
        mia.sees("You don’t have access")
    mia.complaints.clear()  # the refusals themselves


def test_a_change_is_on_the_screen_within_a_second(cloud: SampleCloud, mia: Visitor) -> None:
    mia.visit(f"/allocations?project={cloud.project_id}")
    delays = [seen_after(cloud, mia) for _ in range(3)]
    print(f"from the API's answer to the screen: {', '.join(f'{one * 1000:.0f} ms' for one in delays)}")


def allocated(cloud: SampleCloud, name: str) -> None:
    cloud.admin.allocations.create(cloud.project_id, NewAllocation(sku="h100-slice", gpu_count=1, name=name))


def seen_after(cloud: SampleCloud, made: Visitor) -> float:
    name = f"live-{secrets.token_hex(3)}"
    allocated(cloud, name)
    begun = time.monotonic()
    expect(made.page.get_by_role("link", name=name)).to_be_visible(timeout=HANG)
    return time.monotonic() - begun


def test_a_lost_connection_is_shown_and_heals_without_losing_an_event(cloud: SampleCloud, mia: Visitor) -> None:
    page = mia.page
    mia.visit(f"/allocations?project={cloud.project_id}")
    expect(page.locator('[data-live="live"]')).to_be_attached()
    page.context.set_offline(True)
    cloud.sandbox.server.kill("api")
    lost = page.get_by_text("Connection lost")
    expect(lost).to_be_visible(timeout=HANG)
    cloud.sandbox.server.wait_ready()
    for name in ("missed-1", "missed-2"):
        allocated(cloud, name)
    page.context.set_offline(False)
    expect(lost).to_have_count(0, timeout=HANG)
    for name in ("missed-1", "missed-2"):
        expect(page.get_by_role("link", name=name)).to_be_visible(timeout=HANG)
    mia.complaints.clear()  # what was refused while there was no line


def until_focused(page: Page, wanted: Locator, key: str = "Tab") -> None:
    """By the keyboard alone, as somebody without a mouse gets there."""
    expect(wanted.first).to_be_visible()
    for _ in range(120):
        if wanted.first.evaluate("one => one === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{wanted} cannot be reached with {key}")


def test_an_allocation_is_made_and_released_without_a_mouse(browser: Browser, cloud: SampleCloud) -> None:
    with visitor(browser, cloud.url) as jonas:
        page, keys = jonas.page, jonas.page.keyboard
        grant = cloud.people["project_member"].grant()
        page.goto(f"{cloud.url}/login")
        until_focused(page, page.get_by_label("E-mail"))
        keys.type(grant["username"])
        until_focused(page, page.get_by_label("Password", exact=True))
        keys.type(grant["password"])
        keys.press("Enter")
        jonas.settle()
        keys.press("Control+k")
        expect(page.get_by_role("dialog")).to_be_visible()
        keys.type("allocations")
        expect(
            page.get_by_role("option", name="Allocations").or_(page.get_by_text("Allocations")).first
        ).to_be_visible()
        keys.press("Enter")
        page.wait_for_url("**/allocations*")
        jonas.settle()
        press(page, jonas.button("allocation_create"))
        dialog = page.get_by_role("dialog")
        until_focused(page, dialog.get_by_label("SKU", exact=True))
        choose(page, "h100-slice")
        until_focused(page, dialog.get_by_label("Name"))
        keys.type("by-hand")
        keys.press("Enter")
        page.wait_for_url(re.compile("/allocations/alc_"))
        expect(page.locator("main header").get_by_text("Active", exact=True)).to_be_visible()
        press(page, jonas.button("allocation_release"))
        until_focused(page, dialog.locator("[data-confirm]"))
        keys.type("by-hand")
        press(page, dialog.locator("[data-submit]"))
        expect(page.locator("main header").get_by_text("Released", exact=True)).to_be_visible()
        assert jonas.complaints == []


def press(page: Page, button: Locator) -> None:
    expect(button).to_be_enabled()
    until_focused(page, button)
    page.keyboard.press("Enter")


def choose(page: Page, option: str) -> None:
    """In the list of the field that has the focus."""
    page.keyboard.press("ArrowDown")
    wanted = page.get_by_role("option", name=option)
    expect(wanted).to_be_visible()
    for _ in range(20):
        if wanted.get_attribute("data-combobox-selected") is not None:
            return page.keyboard.press("Enter")
        page.keyboard.press("ArrowDown")
    raise AssertionError(f"{option} cannot be reached with the arrow keys")


def test_the_lines_of_a_member_are_read_searched_and_followed(mia: Visitor, cloud: SampleCloud) -> None:
    page = mia.page
    mia.visit(cloud.routes()["workload"])
    page.get_by_role("button", name="Show logs").click()
    log = page.get_by_role("log")
    expect(log.get_by_text("Simulated app is up").first).to_be_visible(timeout=HANG)
    assert violations(page) == []
    page.get_by_label("Search in these lines").fill("slow request")
    expect(log.get_by_text("Cache is warm")).to_have_count(0)
    expect(log.get_by_text("Slow request").first).to_be_visible()
    page.get_by_label("Search in these lines").fill("")
    page.get_by_role("combobox", name="Member").click()
    page.get_by_role("option", name="All members").click()
    for name in ("controller/0, worker/1", "worker/4"):
        expect(log.locator("span", has_text=name).first).to_be_visible(timeout=HANG)
    expect(page.get_by_label("Follow")).to_be_disabled()  # there are more than a browser has connections for
    assert in_order(log)
    page.get_by_role("combobox", name="Member").click()
    page.get_by_role("option", name="worker/1").click()
    expect(log.get_by_text("Simulated app is up").first).to_be_visible(timeout=HANG)
    with page.expect_download() as downloaded:
        page.get_by_role("link", name="Download").click()
    assert "Simulated app is up" in downloaded.value.path().read_text()
    log.focus()
    page.keyboard.press("End")
    page.get_by_label("Follow").press("Space")
    expect(page.get_by_label("Follow")).to_be_checked()
    count = page.get_by_role("status").filter(has_text="lines")
    expect(count).to_be_visible(timeout=HANG)
    before = log.locator("time").last.get_attribute("datetime") or ""
    deadline = time.monotonic() + HANG / 1000
    while (log.locator("time").last.get_attribute("datetime") or "") <= before:
        assert time.monotonic() < deadline, "no line came while it followed"
        page.wait_for_timeout(100)
    assert faults_of(mia, "workload with logs") == []


def in_order(log: Locator) -> bool:
    times = log.locator("time").evaluate_all("all => all.map((one) => Date.parse(one.dateTime))")
    return len(times) > 0 and times == sorted(times)


def test_a_failure_shows_the_last_lines_and_what_can_be_done(mia: Visitor, cloud: SampleCloud) -> None:
    mia.visit(cloud.routes()["workload-failed"])
    problem = mia.page.get_by_role("alert").filter(has_text="bootstrap_failed")
    expect(problem.get_by_label(re.compile("^Last log lines of controller/0")).locator("time").first).to_be_visible(
        timeout=HANG
    )
    expect(problem.locator('[data-action="instance_deploy"]')).to_be_visible()
    problem.get_by_role("link", name="Show the failed operation").click()
    mia.page.wait_for_url(re.compile("/operations/op_"))
    failure = mia.page.get_by_role("alert").filter(has_text="Step “daemons” of controller/0 failed")
    expect(failure.get_by_label("Last log lines of controller/0")).to_be_visible(timeout=HANG)
    expect(failure.get_by_role("button", name="Deploy again")).to_be_visible()


def test_a_launch_that_cannot_work_is_not_offered_and_says_who_can_change_that(
    browser: Browser, cloud: SampleCloud
) -> None:
    [other] = [one for one in cloud.admin.projects.list() if one.slug == "inference"]
    cases = (
        ("project_viewer", cloud.project_id, "slurm", "A project administrator can make you a project member"),
        ("tenant_admin", other.id, "slurm", "Nobody runs a controller of slurm for this project"),
        ("project_admin", cloud.project_id, "no-such-app", "your tenant is not entitled to the app"),
    )
    for who, project, app, reason in cases:
        with visitor(browser, cloud.url) as person:
            person.log_in(cloud.people[who])
            for path in (f"/catalog/{app}", f"/launch/{app}"):
                person.visit(f"{path}?project={project}")
                person.sees(reason)
                expect(person.page.get_by_role("button", name="Launch", exact=True)).to_have_count(0)
                assert violations(person.page) == [], (who, path)


def test_a_publisher_gives_a_version_to_a_part_of_the_projects_and_takes_it_back(
    mia: Visitor, cloud: SampleCloud
) -> None:
    page = mia.page
    manifest = files("gpuaas_echo").joinpath("manifest.yaml").read_text()
    cloud.admin.app_versions.register(cloud.project_id, manifest.replace("version: 0.1.0", "version: 0.2.0", 1))
    change_version(mia, "0.2.0", "Canary", {"Percent of projects": "100"})
    mia.visit("/catalog/echo")
    mia.sees("New workloads get version 0.2.0, the canary, because this project is one of the 100% of projects")
    pin(mia, "stable")
    mia.sees("New workloads get version 0.1.0, because this project is pinned to stable versions.")
    change_version(mia, "0.2.0", "Promote")
    expect(page.get_by_role("row").filter(has_text="0.1.0")).to_contain_text("Superseded")
    mia.visit("/catalog/echo")
    mia.sees("New workloads get version 0.2.0. There is no canary now.")
    pin(mia, "automatic")
    expect(page.get_by_role("heading", name="Channel")).to_have_count(0)
    change_version(mia, None, "Roll back", {"Reason": "it drops connections"}, confirm="Echo")
    expect(page.get_by_role("row").filter(has_text="0.2.0")).to_contain_text("Superseded")
    change_version(mia, "0.2.0", "Deprecate", {"Notice": "Use 0.1.0."})
    expect(page.get_by_role("row").filter(has_text="0.2.0")).to_contain_text("Deprecated")
    mia.visit("/catalog/echo")
    mia.sees("Use 0.1.0.")


def change_version(
    mia: Visitor, version: str | None, label: str, fields: dict[str, str] | None = None, confirm: str = ""
) -> None:
    """With a button of the version, or of the app as a whole."""
    dialog = version_dialog(mia, version, label)
    for name, value in (fields or {}).items():
        dialog.get_by_label(name).fill(value)
    if confirm:
        dialog.locator("[data-confirm]").fill(confirm)
    dialog.locator("[data-submit]").click()
    expect(dialog).to_have_count(0)


def version_dialog(mia: Visitor, version: str | None, label: str) -> Locator:
    mia.visit("/artifacts?tab=apps")
    mia.page.get_by_role("button", name="Echo").click()
    drawer = mia.page.get_by_role("dialog", name="Echo")
    row = drawer if version is None else drawer.get_by_role("row").filter(has_text=version)
    more = row.get_by_role("button", name="More")
    wanted = row.get_by_role("button", name=label, exact=True)
    expect(wanted.or_(more).first).to_be_visible()
    if not wanted.is_visible():
        more.click()
        wanted = mia.page.get_by_role("menuitem", name=label)
    wanted.click()
    return mia.page.get_by_role("dialog", name=f"{label}: ")


def pin(mia: Visitor, channel: str) -> None:
    dialog = mia.begin("catalog_channel_set")
    dialog.get_by_role("combobox", name="Channel").click()
    mia.page.get_by_role("option", name=channel).click()
    dialog.locator("[data-submit]").click()
    expect(dialog).to_have_count(0)


def test_a_smoke_launch_is_placed_by_name_and_its_outcome_is_evidence(mia: Visitor, cloud: SampleCloud) -> None:
    manifest = files("gpuaas_echo").joinpath("manifest.yaml").read_text()
    made = cloud.admin.app_versions.register(cloud.project_id, manifest.replace("version: 0.1.0", "version: 0.5.0", 1))
    dialog = version_dialog(mia, "0.5.0", "Smoke launch")
    hub = dialog.get_by_role("group", name="Hub: 1, needs its own allocation")
    expect(hub.get_by_role("radio", disabled=False).first).to_be_checked()  # the first that fits
    expect(hub.get_by_role("radio", name="talk runs hello already.")).to_be_disabled()
    dialog.get_by_label("Greeting").fill("")
    assert violations(mia.page) == []
    hub.get_by_role("radio", name="try-out").press("Space")
    dialog.locator("[data-submit]").click()
    expect(mia.page.get_by_role("heading", level=1)).to_contain_text("smoke-echo-")
    artifact = cloud.admin.artifacts.find(cloud.project_id, made.artifact_digest)
    mia.visit(f"/artifacts/{artifact.id}")
    evidence = mia.page.get_by_role("row").filter(has_text="Smoke").filter(has_text="Platform")
    expect(evidence).to_contain_text("Passed")
    expect(evidence.get_by_role("link", name="Show steps")).to_be_visible()
