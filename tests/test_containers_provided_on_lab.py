"""A person launches an image that somebody else has published, and nobody has started a controller for it."""

import urllib.request
from collections.abc import Iterator

import pytest

from gpuaas_sdk import NewInstance, NotFound, Placement
from system_support.container_lab import PORT, ContainerLab, container_lab, web_image
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
SETTLE = 180.0


@pytest.fixture(scope="module")
def lab() -> Iterator[ContainerLab]:
    part("docker-registry")
    with container_lab("offered", hosts=1, platform_apps="containers") as made:
        yield made


def test_an_image_of_any_project_is_carried_out_by_the_platforms_own_controller(lab: ContainerLab) -> None:
    lab.release("1.0.0", web_image("hello", "echo I serve; exec httpd -f -p 80 -h /www"))
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
