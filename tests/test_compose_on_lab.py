"""A compose file becomes an app: published by commands, and run by the container controller over two real hosts."""

import os
import re
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from gpuaas_compose.development import development_slug
from gpuaas_containers.controller import Containers
from gpuaas_sdk import InvalidRequest, NewInstance, Operation, Placement
from gpuaas_sdk.sync.wait import wait_for
from gpuaas_sdk.testing import CatalogApp
from system_support.compose_lab import SERVICES, oci_archive, write_app
from system_support.container_lab import ContainerLab, container_lab, web_image
from system_support.echo_lab import at_work
from tests_support.parts import part

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
FRONT, DATA = 0, 1
TOKEN = "a token of somebody"  # given at launch
PLACES = {"web": FRONT, "cache": FRONT, "store": DATA}
ANSWERS, SECRETS = {"who": "somebody"}, {"token": {"value": TOKEN}}


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
        command, environment = self._command(words)
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)

    @contextmanager
    def at_development(self, *words: str) -> Iterator["Developed"]:
        """Run `gpuaas compose dev` beside the test, which ends it."""
        said = self.folder.with_suffix(".said")
        command, environment = self._command(("dev", str(self.folder), *words))
        with said.open("w") as out, subprocess.Popen(command, env=environment, stdout=out, stderr=out) as process:
            try:
                yield Developed(process, said)
            finally:
                process.terminate()
                process.wait(120)

    def _command(self, words: Sequence[str]) -> tuple[list[str], dict[str, str]]:
        environment = os.environ | {
            "GPUAAS_URL": self.lab.sandbox.server.url,
            "GPUAAS_TOKEN": self.lab.sandbox.bearer("project_admin"),
            "GPUAAS_PROJECT": self.lab.project_id,
            "GPUAAS_CA_FILE": str(self.lab.ca_file()),
        }
        return [sys.executable, "-m", "gpuaas_cli", "compose", *words], environment


@dataclass(frozen=True)
class Developed:
    """A folder that `gpuaas compose dev` runs, and what the command says."""

    process: subprocess.Popen[bytes]
    said: Path

    def says(self, text: str, times: int = 1) -> None:
        def is_said() -> bool | None:
            assert self.process.poll() is None, self.said.read_text()
            return self.said.read_text().count(text) >= times or None

        try:
            wait_for(is_said, 240, what=text)
        except Exception as error:
            raise AssertionError(f"{text}: {self.said.read_text()}") from error

    def end(self) -> str:
        """Press Ctrl-C, and return all that was said."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(120) == 0, self.said.read_text()
        return self.said.read_text()


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


def launch(
    lab: ContainerLab,
    version: str,
    places: Mapping[str, int] = PLACES,
    name: str = "three",
    answers: Mapping[str, object] = ANSWERS,
    secrets: Mapping[str, object] | None = SECRETS,
) -> tuple[str, Operation]:
    placement = [Placement(component_key=key, allocation_id=lab.places[place]) for key, place in places.items()]
    new = NewInstance(
        app=lab.slug,
        name=name,
        version=version,
        placement_intent=placement,
        inputs=answers,
        secrets=secrets,
        when_no_controller="queue",
    )
    started = lab.sandbox.admin.instances.create(lab.project_id, new)
    return started.instance.id, started.operation


def page(lab: ContainerLab) -> list[str]:
    with urllib.request.urlopen(f"http://{lab.hosts[FRONT].address}:8080/page", timeout=5) as answer:
        return str(answer.read().decode()).splitlines()


def await_page(lab: ContainerLab, *lines: str) -> None:
    """Wait until the page has these lines; if it never does, say what the host and its services look like."""
    seen = ""

    def has_lines() -> bool | None:
        nonlocal seen
        try:
            seen = repr(page(lab))
        except OSError as error:  # its host is busy with something else
            seen = repr(error)
        return seen == repr([*lines]) or None

    try:
        wait_for(has_lines, 120, what="the page")
    except Exception as error:
        looks = (["podman", "ps", "--all"], ["journalctl", "--no-pager", "-n", "60"], ["nft", "list", "ruleset"])
        shown = [lab.hosts[FRONT].run(look, check=False).stdout for look in looks]
        raise AssertionError("\n".join([f"The page: {seen}", *shown])) from error


def _is_served(lab: ContainerLab) -> bool:
    return lab.sandbox.admin.catalog.show(lab.project_id, lab.slug).controller.state == "live"


def containers(lab: ContainerLab, host: int) -> set[str]:
    """The services that run on a host."""
    shown = lab.hosts[host].run(["podman", "ps", "--format={{.Names}}"]).stdout.split()
    return {re.sub(r"gpuaas-\w+-(\w+)-\w+", r"\1", name) for name in shown}


def container_ids(lab: ContainerLab, host: int) -> dict[str, str]:
    shown = lab.hosts[host].run(["podman", "ps", "--format={{.Names}} {{.ID}}"]).stdout
    return dict(re.findall(r"gpuaas-\w+-(\w+)-\w+ (\w+)", shown))


def secrets_of_cache(lab: ContainerLab) -> list[str]:
    """What the service reads: the secret that was given, and the one that was made."""
    read = ["podman", "exec", container_ids(lab, FRONT)["cache"], "/bin/busybox", "cat"]
    return [lab.hosts[FRONT].run([*read, path]).stdout for path in ("/run/secrets/token", "/etc/password")]


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
        assert secrets_of_cache(lab)[0] == TOKEN
        assert len(secrets_of_cache(lab)[1]) == 24, "the platform made it"
        steps = [step for step in lab.ended(deploy).steps if step.name in ("start", "ready")]
        members = {one.id: one for one in lab.sandbox.admin.instances.members(lab.project_id, instance)}
        order = [(members[step.member_id or ""].component_key, step.name) for step in steps]
        assert order[-2:] == [("store", "ready"), ("web", "start")], "it waits until the store is healthy"
        waited = lab.hosts[DATA].run(["podman", "exec", container_ids(lab, DATA)["store"], "ls", "/data"]).stdout
        assert "ready" in waited.split()
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


def release_gpu_app(lab: ContainerLab, version: str, **profiles: Mapping[str, object]) -> None:
    """Release a version with a component for each profile, all on one allocation."""
    image = web_image("gpus")
    common = {"image": image.digest, "stop_timeout_seconds": 1}
    components = [
        {"key": key, "min": 1, "max": 1, "allocation_group": "one", "runtime_profile": {**common, **profile}}
        for key, profile in profiles.items()
    ]
    needed = {"compatibility": {"min_gpu_count": 4}, "footprint": {}, "probes": [], "ui": {}}
    lab.release(version, image, {"ports": []}, components=components, **needed)


def gpus_seen(lab: ContainerLab) -> dict[str, list[int]]:
    """The GPUs that each container finds among its devices."""
    found = {}
    for name, container in container_ids(lab, FRONT).items():
        shown = lab.hosts[FRONT].run(["podman", "exec", container, "ls", "/dev"]).stdout
        found[name] = sorted(int(number) for number in re.findall(r"\bnvidia(\d+)\b", shown))
    return found


def test_no_two_containers_of_an_allocation_have_the_same_gpu_unless_both_share(lab: ContainerLab) -> None:
    shared = {"gpus": 1, "share_gpus": True}
    profiles = {"first": {"gpus": 2}, "second": {"gpus": 1}, "left": shared, "right": shared}
    release_gpu_app(lab, "3.0.0", **profiles)
    with at_work(Containers(), lab.controller()):
        instance, deploy = launch(lab, "3.0.0", dict.fromkeys(profiles, FRONT), answers={}, secrets=None)
        lab.succeeds(deploy)
        assert gpus_seen(lab) == {"first": [0, 1], "second": [2], "left": [3], "right": [3]}
        # An instance knows of its own members alone, so no other one may be beside it.
        with pytest.raises(InvalidRequest) as refused:
            launch(lab, "3.0.0", dict.fromkeys(profiles, FRONT), "another", answers={}, secrets=None)
        assert "allocation_busy" in str(refused.value.problem.details)
        lab.torn_down(instance)


def test_the_example_is_written_published_tried_and_removed_by_commands(lab: ContainerLab, tmp_path: Path) -> None:
    image, folder = tmp_path / "busybox.tar", tmp_path / lab.slug
    image.write_bytes(oci_archive(web_image("any")))
    author = Author(lab, folder)
    author.compose("init", str(folder), "--image", str(image))
    assert "2 services on 2 allocations" in author.compose("lint", str(folder))
    assert "are not tested" in author.compose("publish", str(folder), "--reason", "a look")
    publish = ("publish", str(folder), "--reason", "a try", "--smoke", "true")
    assert "0.1.0 is active" in author.compose(*publish)
    assert "0.1.0 is active" in author.compose(*publish), "it can be repeated"
    places = [f"--place={name}={lab.places[place]}" for name, place in (("front", FRONT), ("data", DATA))]
    with at_work(Containers(), lab.controller()):
        wait_for(lambda: _is_served(lab) or None, 30, what="it")
        said = author.compose("test", str(folder), *places, "--set", "greeting=good morning")
    assert "web: ready, http passing (HTTP 200)" in said
    assert "Nothing of it is left on its hosts." in said
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


def test_a_folder_under_development_is_reloaded_where_it_changes_and_leaves_nothing(
    lab: ContainerLab, tmp_path: Path
) -> None:
    folder = tmp_path / "app"
    write_app(folder, lab.slug, "2.0.0")
    compose = folder / "compose.yaml"
    first, author = compose.read_text(), Author(lab, folder)
    served = CatalogApp(lab.sandbox, development_slug(lab.slug, lab.project_id))
    (tmp_path / "token").write_text(TOKEN + "\n")
    options = ("--allocation", lab.places[FRONT], "--set", "who=ada", "--secret-file", f"token={tmp_path / 'token'}")
    with at_work(Containers(), served.controller()), author.at_development(*options) as developed:
        developed.says("Watching")
        assert "Applied in" in developed.said.read_text(), developed.said.read_text()
        await_page(lab, "cache 2.0.0", "store 2.0.0", "ada")
        assert secrets_of_cache(lab)[0] == TOKEN
        before = container_ids(lab, FRONT)
        compose.write_text(first.replace("image: example/cache@", 'environment: {A: "1"}\n    image: example/cache@'))
        developed.says("cache changed")
        after = container_ids(lab, FRONT)
        assert {name for name in SERVICES if before[name] != after[name]} == {"cache"}, "the others were left alone"
        compose.write_text(first + "networks: {a: }\n")
        developed.says("networks is refused")
        assert container_ids(lab, FRONT) == after
        (folder / "images/cache.tar").write_bytes(oci_archive(web_image("cache anew")))
        compose.write_text(first)
        developed.says("s: cache changed", 2)
        await_page(lab, "cache anew", "store 2.0.0", "ada")
        said = developed.end()
    assert "web | Started gpuaas-" in said
    assert TOKEN not in said
    assert said.count("Not applied") == said.count("networks is refused"), said
    assert re.search(r"receipts: rcp_\w+ clean", said), said
    assert lab.hosts[FRONT].run(["podman", "ps", "--all", "--quiet"]).stdout == ""
    listed = lab.sandbox.admin.apps.list(lab.project_id)
    [app] = [one for one in listed if one.slug == served.slug]
    assert {one.status for one in lab.sandbox.admin.app_versions.list(lab.project_id, app.id)} == {"retired"}
    write_app(folder / "again", lab.slug, "2.0.0")
    again = ("publish", str(folder / "again"), "--reason", "a look")
    assert "are not tested" in author.compose(*again), "development proves nothing"
