"""A compose file becomes an app: published by commands, and run by the container controller over two real hosts."""

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuaas_containers.controller import Containers
from gpuaas_sdk import InvalidRequest, NewInstance, Operation, Placement
from gpuaas_sdk.sync.wait import wait_for
from system_support.compose_lab import SERVICES, oci_archive, write_app
from system_support.container_lab import ContainerLab, container_lab, web_image
from system_support.echo_lab import at_work
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
FRONT, DATA = 0, 1
PLACES = {"web": FRONT, "cache": FRONT, "store": DATA}


@dataclass(frozen=True)
class Author:
    """Somebody who publishes from a folder with the command."""

    lab: ContainerLab
    folder: Path

    def compose(self, *words: str) -> str:
        """Run the command and return what it says; it must succeed."""
        done = self.attempt(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def attempt(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = os.environ | {
            "GPUAAS_URL": self.lab.sandbox.server.url,
            "GPUAAS_TOKEN": self.lab.sandbox.bearer("project_admin"),
            "GPUAAS_PROJECT": self.lab.project_id,
            "GPUAAS_CA_FILE": str(self.lab.ca_file()),
        }
        command = [sys.executable, "-m", "gpuaas_cli", "compose", *words]
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)


@pytest.fixture(scope="module")
def whole_lab() -> Iterator[ContainerLab]:
    part("docker-registry")
    with container_lab("compose", hosts=2) as made:
        yield made


@pytest.fixture
def lab(whole_lab: ContainerLab) -> Iterator[ContainerLab]:
    yield whole_lab
    whole_lab.clear()


def release(lab: ContainerLab, folder: Path, version: str) -> Author:
    """Publish a version of the three services with one command."""
    write_app(folder, lab.slug, version)
    author = Author(lab, folder)
    said = author.compose("publish", str(folder), "--reason", "for a test", "--smoke", "echo all passed")
    assert f"{lab.slug} {version} is active" in said
    return author


def launch(lab: ContainerLab, version: str, places: Mapping[str, int] = PLACES) -> tuple[str, Operation]:
    placement = [Placement(component_key=key, allocation_id=lab.places[place]) for key, place in places.items()]
    new = NewInstance(
        app=lab.slug,
        name="three",
        version=version,
        placement_intent=placement,
        inputs={"who": "somebody"},
        when_no_controller="queue",
    )
    started = lab.sandbox.admin.instances.create(lab.project_id, new)
    return started.instance.id, started.operation


def page(lab: ContainerLab) -> list[str]:
    with urllib.request.urlopen(f"http://{lab.hosts[FRONT].address}:8080/page", timeout=5) as answer:
        return str(answer.read().decode()).splitlines()


def _is_served(lab: ContainerLab) -> bool:
    return lab.sandbox.admin.catalog.show(lab.project_id, lab.slug).controller.state == "live"


def containers(lab: ContainerLab, host: int) -> set[str]:
    """The services that run on a host."""
    shown = lab.hosts[host].run(["podman", "ps", "--format={{.Names}}"]).stdout.split()
    return {re.sub(r"gpuaas-\w+-(\w+)-\w+", r"\1", name) for name in shown}


def test_three_services_on_two_hosts_find_each_other_keep_their_volume_and_leave_nothing(
    lab: ContainerLab, tmp_path: Path
) -> None:
    release(lab, tmp_path / "one", "1.0.0")
    release(lab, tmp_path / "two", "1.1.0")
    with at_work(Containers(), lab.controller()):
        instance, deploy = launch(lab, "1.0.0")
        lab.succeeds(deploy)
        assert page(lab) == ["cache 1.0.0", "store 1.0.0", "somebody"]
        assert (containers(lab, FRONT), containers(lab, DATA)) == ({"web", "cache"}, {"store"})
        steps = [step for step in lab.ended(deploy).steps if step.name == "start"]
        members = {one.id: one for one in lab.sandbox.admin.instances.members(lab.project_id, instance)}
        order = [members[step.member_id or ""].component_key for step in steps]
        assert order[-1] == "web", "it depends on the two others"
        assert {one.component_key: [probe.status for probe in one.probes] for one in members.values()} == {
            "web": ["passing"],
            "cache": [],
            "store": ["passing"],
        }
        lab.succeeds(lab.upgrade(instance, "1.1.0"))
        wait_for(lambda: page(lab)[0] == "cache 1.1.0" or None, 30, what="the upgraded cache")
        assert page(lab) == ["cache 1.1.0", "store 1.0.0", "somebody"], "what the store wrote is in its volume"
        lab.torn_down(instance)
    for host in lab.hosts:
        for kind in ("volume", "container", "image"):
            assert host.run(["podman", kind, "ls", "--quiet"]).stdout == "", kind
        assert host.run(["podman", "network", "ls", "--format={{.Name}}"]).stdout.split() == ["podman"]


def test_services_of_one_allocation_cannot_be_placed_apart(lab: ContainerLab, tmp_path: Path) -> None:
    release(lab, tmp_path / "app", "1.2.0")
    for places, code in (
        ({"web": FRONT, "cache": DATA, "store": DATA}, "allocation_group_split"),
        (dict.fromkeys(SERVICES, FRONT), "allocation_group_mixed"),
    ):
        with pytest.raises(InvalidRequest) as refused:
            launch(lab, "1.2.0", places)
        refusals = refused.value.problem.details["refusals"]
        assert isinstance(refusals, list)
        assert code in {refusal["code"] for refusal in refusals}


def test_the_example_is_written_published_tried_and_removed_by_commands(lab: ContainerLab, tmp_path: Path) -> None:
    image, folder = tmp_path / "busybox.tar", tmp_path / lab.slug
    image.write_bytes(oci_archive(web_image("any")))
    author = Author(lab, folder)
    author.compose("init", str(folder), "--image", str(image))
    assert "2 services on 2 allocations" in author.compose("lint", str(folder))
    assert "are drafts" in author.compose("publish", str(folder), "--reason", "a look")
    publish = ("publish", str(folder), "--reason", "a try", "--smoke", "true")
    assert "0.1.0 is active" in author.compose(*publish)
    assert "0.1.0 is active" in author.compose(*publish), "it can be repeated"
    places = [f"--place={name}={lab.places[place]}" for name, place in (("front", FRONT), ("data", DATA))]
    with at_work(Containers(), lab.controller()):
        wait_for(lambda: _is_served(lab) or None, 30, what="it")
        said = author.compose("test", str(folder), *places, "--set", "greeting=good morning")
    assert "web: ready, http passing (HTTP 200)" in said
    assert "Its hosts show nothing of it." in said
    refused = author.attempt("test", str(folder), places[0])
    assert (refused.returncode, "placement_missing" in refused.stderr) == (2, True), refused.stderr


def test_an_archive_of_another_image_is_not_pushed(lab: ContainerLab, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    write_app(folder, lab.slug, "9.0.0")
    (folder / "images/web.tar").write_bytes(oci_archive(web_image("another")))
    refused = Author(lab, folder).attempt("publish", str(folder), "--reason", "a test")
    assert (refused.returncode, "image_mismatch" in refused.stderr) == (2, True), refused.stderr
    versions = lab.sandbox.admin.app_versions
    found = [
        one for app in lab.sandbox.admin.apps.list(lab.project_id) for one in versions.list(lab.project_id, app.id)
    ]
    assert "9.0.0" not in {one.version for one in found}
