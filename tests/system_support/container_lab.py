"""Launchable apps on real hosts: a registry that they pull from, and images made of one program on the spot."""

import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from gpuaas_containers.controller import Containers
from gpuaas_containers.names import MemberNames
from gpuaas_lab import CONTAINER_ENGINE, Host
from gpuaas_lab.container_image import ContainerImage, build_image
from gpuaas_sdk import AppVersion, GpuaasError, InstanceMember, NewInstance, Operation, Placement
from gpuaas_sdk.registry import Repository
from gpuaas_sdk.testing.catalog_app import SETTLE, TESTED
from system_support.controllers import at_work
from system_support.lab_site import LabApp, lab_site

PORT = 7007
_TOOLS = (
    "sh",
    "dd",
    "tr",
    "sleep",
    "httpd",
    "ls",
    "cat",
    "id",
    "echo",
    "printf",
    "touch",
    "env",
    "nc",
    "kill",
    "mkdir",
)


def web_image(greeting: str, command: str = "httpd -f -p 80 -h /www") -> ContainerImage:
    """An image that answers on port 80 with a greeting, or does what its command says."""
    program = (CONTAINER_ENGINE.path / "usr/bin/busybox").read_bytes()
    files = {"bin/busybox": program, "www/greeting": greeting.encode()}
    return build_image(files, ["/bin/sh", "-c", command], {f"bin/{name}": "busybox" for name in _TOOLS})


def manifest(slug: str, version: str, digest: str, profile: Mapping[str, object], **more: object) -> dict[str, object]:
    ports = profile.get("ports", [{"container_port": 80, "host_port": PORT}])
    probe = {"key": "answers", "component": "web", "kind": "http", "port": PORT, "path": "/greeting"}
    timing = {"purpose": ["readiness", "liveness"], "start_period_seconds": 5, "interval_seconds": 1, "failures": 2}
    document: dict[str, object] = {
        "manifest": 1,
        "slug": slug,
        "display_name": "A web server",
        "description": "A container that answers.",
        "version": version,
        "runtime_version": "1",
        "artifact": {"kind": "launchable", "digest": digest},
        "compatibility": {},
        "components": [{"key": "web", "display_name": "Web", "min": 1, "max": 4, "placement": "own_allocation"}],
        "footprint": {"ports": [{"port": PORT}]},
        "probes": [probe | timing],
        "runtime_profile": {"image": digest, "ports": ports, **profile},
        "ui": {"endpoints": [{"key": "greeting", "component": "web", "port": PORT, "path": "/greeting"}]},
    }
    return document | more


class ContainerLab(LabApp):
    """An app of this slug that runs images. `release` publishes an image and a version that runs it."""

    def release(
        self, version: str, image: ContainerImage, profile: Mapping[str, object] | None = None, **more: object
    ) -> AppVersion:
        self.push(image)
        return self.release_version(version, image, profile, **more)

    def release_version(
        self, version: str, image: ContainerImage, profile: Mapping[str, object] | None = None, **more: object
    ) -> AppVersion:
        """Register and activate a version that runs a promoted image."""
        admin, project = self.sandbox.admin, self.project_id
        document = manifest(self.slug, version, image.digest, profile or {}, **more)
        made = admin.app_versions.register(project, yaml.safe_dump(document))
        return admin.app_versions.activate(project, made.app_id, made.id)

    def push(self, image: ContainerImage) -> None:
        """Push, register and promote the image, unless it is there."""
        admin, project = self.sandbox.admin, self.project_id
        if not list(admin.artifacts.list(project, digest=image.digest)):
            self.promote(self.publish_draft(image))

    def publish_draft(self, image: ContainerImage) -> str:
        """Push and register the image as a draft. Returns the intent."""
        admin, project = self.sandbox.admin, self.project_id
        intent = admin.publish_intents.create(project, "oci", f"image-{image.digest[7:15]}")
        assert intent.push is not None
        token = admin.artifacts.registry_token
        where = (intent.push.registry, intent.push.repository)
        repository = Repository(*where, lambda scope: token(scope=[scope]).token, str(self.ca_file()))
        for blob in image.blobs:
            _patiently(repository, blob)
        repository.push_manifest("1", image.manifest)
        admin.publish_intents.complete(project, intent.id, image.digest)
        return intent.id

    def promote(self, intent_id: str) -> None:
        """Wait until the image is registered, and make it active."""
        admin, project = self.sandbox.admin, self.project_id
        made = admin.publish_intents.wait_until_checked(project, intent_id, SETTLE)
        assert made.artifact_id is not None, made
        artifact = admin.artifacts.wait_until_checked(project, made.artifact_id, SETTLE)
        admin.artifacts.promote_to(project, artifact, reason="for a test", checks=TESTED)

    def launch(
        self,
        name: str,
        version: str,
        place: int = 0,
        secrets: Mapping[str, object] | None = None,
        **inputs: object,
    ) -> tuple[str, Operation]:
        placement = [Placement(component_key="web", allocation_id=self.places[place])]
        new = NewInstance(
            app=self.slug,
            name=name,
            version=version,
            placement_intent=placement,
            inputs=inputs,
            secrets=secrets,
            when_no_controller="queue",
        )
        started = self.sandbox.admin.instances.create(self.project_id, new)
        return started.instance.id, started.operation

    def member(self, instance: str) -> InstanceMember:
        [found] = self.sandbox.admin.instances.members(self.project_id, instance)
        return found

    def upgrade(self, instance: str, version: str) -> Operation:
        return self.sandbox.admin.instances.upgrade(self.project_id, instance, version).operation

    def clear(self) -> None:
        """What a test that failed has left goes, so that the next one has room."""
        admin, project = self.sandbox.admin, self.project_id
        left = [one for one in admin.instances.list(project) if one.decommissioned_at is None]
        if not left:
            return
        with at_work(Containers(), self.controller("cleaner")):
            for one in left:
                if one.operation_id is not None:
                    admin.operations.force(project, one.operation_id, "the test is over")
                self.ended(self.operate(one.id, "decommission"))

    def ca_file(self) -> Path:
        file = self.sandbox.server.directory / "platform-ca.pem"
        if not file.exists():
            keys = self.sandbox.admin.platform_keys.list()
            file.write_text("".join(key.certificate or "" for key in keys if key.kind == "tls_ca"))
        return file


def _patiently(repository: Repository, content: bytes) -> None:
    """The registry starts beside the API and may need a moment longer."""
    deadline = time.monotonic() + 30
    while True:
        try:
            repository.push_blob(content)
            return
        except GpuaasError as error:
            if not error.problem.retryable or time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def says(lab: ContainerLab, path: str = "greeting", place: int = 0) -> str:
    """What the users of the container get, or nothing where nobody answers."""
    try:
        with urllib.request.urlopen(f"http://{lab.hosts[place].address}:{PORT}/{path}", timeout=5) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def names_of(instance: str, member: InstanceMember) -> MemberNames:
    return MemberNames.of(instance, member.component_key, member.id)


def engine_lists(host: Host) -> dict[str, list[str]]:
    """What the engine has on the host, beside the network that it always has."""
    kinds = {"ps": ["ps", "--all"], "images": ["images"], "volume": ["volume", "ls"]}
    listed = {kind: host.run(["podman", *words, "--quiet"]).stdout.split() for kind, words in kinds.items()}
    networks = host.run(["podman", "network", "ls", "--format={{.Name}}"]).stdout.split()
    listed["network"] = [one for one in networks if one != "podman"]
    listed["secret"] = host.run(["podman", "secret", "ls", "--format={{.Name}}"]).stdout.split()
    return {kind: sorted(set(found)) for kind, found in listed.items()}


def let_systemd_restart(lab: ContainerLab, container: str, times: int) -> str:
    """Kill the container's program so often, each time after it answered. Returns the container's short id at the end."""
    host, inspect = lab.hosts[0], ["podman", "container", "inspect", "--format={{.Id}} {{.State.Pid}}", container]
    now, pid = host.run(inspect).stdout.split()
    for _ in range(times):
        host.run(["kill", "-KILL", pid])

        def another(before: str = now) -> list[str] | None:
            found = host.run(inspect, check=False).stdout.split()
            return found if found and found[0] != before and says(lab) else None

        now, pid = lab.sandbox.admin.wait_for(another, 60, "the container to run again")
    return now[:12]


NOTHING: dict[str, list[str]] = {"ps": [], "images": [], "volume": [], "network": [], "secret": []}


@contextmanager
def container_lab(name: str, hosts: int = 1, **settings: str) -> Iterator[ContainerLab]:
    with lab_site(name, hosts, CONTAINER_ENGINE, registry=True, **settings) as (sandbox, fleet):
        made = ContainerLab(sandbox, "web")
        made.settle_on(fleet)
        yield made
