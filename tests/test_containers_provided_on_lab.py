"""A person launches an image that somebody else has published, and nobody has started a controller for it."""

import re
import urllib.request
from collections.abc import Iterator

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from gpuaas_sdk import Conflict, NewInstance, NotFound, Placement
from gpuaas_sdk.testing.catalog_app import TESTED
from system_support.console.browser import Visitor, chromium, visitor
from system_support.console.requirements import require_browser
from system_support.container_lab import (
    NOTHING,
    PORT,
    ContainerLab,
    container_lab,
    engine_lists,
    manifest,
    web_image,
)
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SETTLE = 180.0
HANG = SETTLE * 1000  # milliseconds, after which nobody waits any more
SERVE = "echo I serve; while sleep 1; do echo still here; done & exec httpd -f -p 80 -h /www"


@pytest.fixture(scope="module")
def lab() -> Iterator[ContainerLab]:
    part("docker-registry")
    with container_lab("offered", hosts=1, platform_apps="containers") as made:
        made.release("1.0.0", web_image("hello", SERVE))
        yield made


@pytest.fixture
def mia(lab: ContainerLab) -> Iterator[Visitor]:
    """A project member in front of the console."""
    require_browser()
    with chromium() as browser, visitor(browser, lab.sandbox.server.url) as made:
        made.log_in(lab.sandbox.credentials("project_member"))
        yield made
        assert made.complaints == []


def test_an_image_of_any_project_is_carried_out_by_the_platforms_own_controller(lab: ContainerLab) -> None:
    person, project = lab.sandbox.person("project_member"), lab.project_id

    def is_served() -> bool:
        try:
            entry = person.catalog.show(project, lab.slug)
        except NotFound:
            return False
        return entry.controller.state == "live" and "instance_create" in entry.allowed_actions

    person.wait_for(is_served, SETTLE, "the app to be served")
    where = [Placement(component_key="web", allocation_id=lab.places[0])]
    started = person.instances.create(project, NewInstance(app=lab.slug, name="first", placement_intent=where))
    lab.succeeds(started.operation, SETTLE)
    with urllib.request.urlopen(f"http://{lab.hosts[0].address}:{PORT}/greeting", timeout=5) as answer:
        assert answer.read() == b"hello"
    [member] = person.instances.members(project, started.instance.id)
    assert member.status == "ready"
    lines = [line.text for line in person.logs.tail(project, started.instance.id, 20, member=member.id)]
    assert "I serve" in lines
    lab.torn_down(started.instance.id)


def test_the_platform_launches_a_draft_where_its_tenant_wants_to_see_that_before_it_is_staged(
    lab: ContainerLab,
) -> None:
    admin, project, tenant = lab.sandbox.admin, lab.project_id, lab.sandbox.tenant_id
    image = web_image("a draft", SERVE)
    made = admin.publish_intents.wait_until_checked(project, lab.publish_draft(image), SETTLE)
    artifact = admin.artifacts.show(project, made.artifact_id or "")
    draft = admin.app_versions.register(project, yaml.safe_dump(manifest(lab.slug, "2.0.0", image.digest, {})))
    admin.trust.set_policy(tenant, require_signature=False, require_smoke_launch=True, reason="for a test")
    try:
        with pytest.raises(Conflict) as refused:
            admin.artifacts.promote_to(project, artifact, reason="for a test", checks=TESTED)
        assert refused.value.code == "promotion_refused", "the publisher's own word is not enough here"
        where = [Placement(component_key="web", allocation_id=lab.places[0])]
        started = admin.app_versions.smoke(project, draft.app_id, draft.id, where)
        outcome = admin.app_versions.wait_for_smoke(draft, started, SETTLE)
        assert (outcome.passed, outcome.source) == (True, "platform"), outcome.summary
        assert engine_lists(lab.hosts[0]) == NOTHING
        staged = admin.artifacts.promote_to(project, admin.artifacts.show(project, artifact.id), reason="seen to run")
        assert staged.stage == "active"
    finally:
        admin.trust.set_policy(tenant, require_signature=False, require_smoke_launch=False, reason="the test is over")


def test_a_person_launches_an_app_from_the_catalogue_reads_its_log_and_stops_it(
    lab: ContainerLab, mia: Visitor
) -> None:
    page = mia.page
    launch_from_catalogue(mia, "A web server", "greeter", lab.places[0])
    becomes(page, "Running")
    expect(page.get_by_text(f"http://{lab.hosts[0].address}:{PORT}/greeting").first).to_be_visible()
    page.get_by_role("button", name="Show logs").click()
    log = page.get_by_role("log")
    expect(log.get_by_text("I serve")).to_be_visible(timeout=HANG)
    page.get_by_label("Search in these lines").fill("still here")
    expect(log.get_by_text("I serve")).to_have_count(0)
    page.get_by_label("Follow").press("Space")
    grows(log)
    operation_of(page, "Deploy")
    for step in ("check", "pull", "start"):
        expect(page.get_by_role("listitem").filter(has_text=re.compile(f"^{step}.*succeeded"))).to_be_visible()
    page.go_back()
    mia.act("instance_stop", "greeter")
    page.wait_for_url(re.compile("/operations/op_"))
    becomes(page, "Succeeded")
    expect(page.get_by_text("nothing runs")).to_be_visible(timeout=HANG)
    expect(page.locator("main").get_by_text("Clean", exact=True)).to_be_visible()
    page.get_by_role("link", name="greeter").click()
    becomes(page, "Stopped")
    [instance] = [one for one in lab.sandbox.admin.instances.list(lab.project_id) if one.name == "greeter"]
    lab.torn_down(instance.id)


def launch_from_catalogue(mia: Visitor, app: str, name: str, place: str) -> None:
    page = mia.page
    mia.visit("/catalog")
    page.get_by_role("link", name=app).click()
    expect(page.get_by_role("heading", name=app)).to_be_visible()
    expect(page.get_by_text("Served by")).to_be_visible()
    page.get_by_role("button", name="Launch").click(timeout=HANG)  # it comes when the controller does
    page.get_by_label("Workload name").fill(name)
    page.locator(f'[data-allocation="{place}"] input').check()
    page.get_by_role("button", name="Launch", exact=True).click()
    page.wait_for_url(re.compile("/workloads/ins_"))


def becomes(page: Page, state: str) -> None:
    expect(page.locator("main header").get_by_text(state, exact=True).first).to_be_visible(timeout=HANG)


def grows(log: Locator) -> None:
    """While somebody follows, lines come."""
    seen = log.locator("time")
    expect(seen.first).to_be_visible(timeout=HANG)
    newest = seen.last.get_attribute("datetime") or ""
    expect(seen.last).not_to_have_attribute("datetime", newest, timeout=HANG)


def operation_of(page: Page, kind: str) -> None:
    """Open the workload's operation of this kind."""
    page.get_by_role("table", name="Operations").get_by_role("link", name=kind).click()
    page.wait_for_url(re.compile("/operations/op_"))
