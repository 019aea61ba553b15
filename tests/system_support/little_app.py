"""A small app as its team would ship it: an artifact, a manifest with a footprint, and a controller's service account."""

import json
import secrets
import tempfile
from dataclasses import dataclass
from pathlib import Path

from gpuaas_sdk import Client, NewInstance, Operation, Placement, ServiceAccountCredentials
from gpuaas_sdk.signatures import digest_of

FOOTPRINT: dict[str, object] = {
    "units": ["little.service"],
    "processes": ["little-server"],
    "ports": [{"port": 7345}],
    "paths": ["/opt/little"],
    "users": ["little"],
}
METERED = {"key": "requests", "unit": "count"}


@dataclass
class LittleApp:
    admin: Client
    project_id: str
    slug: str
    controller: Client

    @classmethod
    def publish(cls, admin: Client, project_id: str) -> "LittleApp":
        slug = f"little-{secrets.token_hex(3)}"
        version = admin.app_versions.register(project_id, _manifest(slug, _active_artifact(admin, project_id)))
        admin.app_versions.activate(project_id, version.app_id, version.id)
        account = admin.service_accounts.create(project_id, f"controls-{slug}", ["apps:control"], app_slugs=[slug])
        assert account.key is not None
        credentials = ServiceAccountCredentials(account.id, account.key.secret or "")
        return cls(admin, project_id, slug, Client(admin.base_url, credentials=credentials))

    def launch(self, allocation_id: str) -> tuple[str, str]:
        """The ids of the instance and of its deploy."""
        place = Placement(component_key="server", allocation_id=allocation_id)
        name = f"one-{secrets.token_hex(3)}"
        new = NewInstance(app=self.slug, name=name, placement_intent=[place], when_no_controller="queue")
        started = self.admin.instances.create(self.project_id, new)
        return started.instance.id, started.operation.id

    def ask(self, instance_id: str, verb: str) -> str:
        return self.admin.instances.operate(self.project_id, instance_id, verb).operation.id

    def claim(self, operation_id: str) -> str:
        """The lease token."""
        return self.controller.controller.claim(self.project_id, operation_id, "replica-1").lease_token

    def say_done(self, operation_id: str, lease_token: str | None = None) -> None:
        """Whether or not anything was done."""
        token = lease_token or self.claim(operation_id)
        self.controller.controller.complete(self.project_id, operation_id, token)

    def ended(self, operation_id: str, seconds: float = 60.0) -> Operation:
        def over() -> Operation | None:
            found = self.admin.operations.show(self.project_id, operation_id)
            return None if found.live else found

        return self.admin.wait_for(over, seconds, what="the operation to end")


def _active_artifact(admin: Client, project_id: str) -> str:
    with tempfile.NamedTemporaryFile() as file:
        file.write(secrets.token_bytes(100))
        file.flush()
        source = Path(file.name)
        intent = admin.publish_intents.create(project_id, "blob", "little")
        admin.publish_intents.upload(intent, source)
        digest = digest_of(source)
        admin.publish_intents.complete(project_id, intent.id, digest)
    registered = admin.publish_intents.wait_until_checked(project_id, intent.id, 60.0).artifact_id or ""
    admin.artifacts.wait_until_checked(project_id, registered, 60.0)  # by then the platform has linted it
    for kind in ("lint", "smoke"):
        admin.artifacts.add_evidence(project_id, registered, kind, True, tool="story", summary="it passed")
    for stage, percent in (("staged", None), ("canary", 100), ("active", None)):
        admin.artifacts.move(project_id, registered, stage, "the story goes on", canary_percent=percent)
    return digest


def _manifest(slug: str, digest: str) -> str:
    return json.dumps(
        {
            "manifest": 1,
            "slug": slug,
            "display_name": "Little",
            "version": "1.0.0",
            "runtime_version": "1",
            "artifact": {"kind": "controller", "digest": digest},
            "compatibility": {"requires_capacity_shape": ["baremetal", "gpu_slice"], "min_gpu_count": 1},
            "components": [{"key": "server", "min": 1, "max": 4}],
            "footprint": FOOTPRINT,
            "metering": [METERED],
        }
    )
