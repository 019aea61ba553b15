"""Launchable apps on real hosts: a registry that they pull from, and images made of one program on the spot."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from gpuaas_containers.controller import Containers
from gpuaas_lab import CONTAINER_ENGINE
from gpuaas_lab.container_image import ContainerImage, build_image
from gpuaas_sdk import AppVersion, GpuaasError, InstanceMember, NewInstance, Operation, Placement
from gpuaas_sdk.registry import Repository
from gpuaas_sdk.testing.catalog_app import PROMOTIONS, SETTLE
from system_support.echo_lab import at_work
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
        admin, project = self.sandbox.admin, self.project_id
        document = manifest(self.slug, version, image.digest, profile or {}, **more)
        made = admin.app_versions.register(project, yaml.safe_dump(document))
        return admin.app_versions.activate(project, made.app_id, made.id)

    def push(self, image: ContainerImage) -> None:
        """Push, register and promote the image, unless it is there."""
        admin, project = self.sandbox.admin, self.project_id
        if list(admin.artifacts.list(project, digest=image.digest)):
            return
        intent = admin.publish_intents.create(project, "oci", f"image-{image.digest[7:15]}")
        assert intent.push is not None
        token = admin.artifacts.registry_token
        where = (intent.push.registry, intent.push.repository)
        repository = Repository(*where, lambda scope: token(scope=[scope]).token, str(self.ca_file()))
        for blob in image.blobs:
            _patiently(repository, blob)
        repository.push_manifest("1", image.manifest)
        admin.publish_intents.complete(project, intent.id, image.digest)
        made = admin.publish_intents.wait_until_checked(project, intent.id, SETTLE)
        assert made.artifact_id is not None, made
        for kind in ("lint", "smoke"):
            admin.artifacts.add_evidence(project, made.artifact_id, kind, True, tool="testing-kit", summary="passed")
        for stage in PROMOTIONS:
            percent = 100 if stage == "canary" else None
            admin.artifacts.move(project, made.artifact_id, stage, "for a test", canary_percent=percent)

    def launch(self, name: str, version: str, place: int = 0, **inputs: object) -> tuple[str, Operation]:
        placement = [Placement(component_key="web", allocation_id=self.places[place])]
        new = NewInstance(
            app=self.slug,
            name=name,
            version=version,
            placement_intent=placement,
            inputs=inputs,
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


@contextmanager
def container_lab(name: str, hosts: int = 1, **settings: str) -> Iterator[ContainerLab]:
    with lab_site(name, hosts, CONTAINER_ENGINE, registry=True, **settings) as (sandbox, fleet):
        made = ContainerLab(sandbox, "web")
        made.settle_on(fleet)
        yield made
