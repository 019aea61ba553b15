"""An app in the catalogue and a service account for its controller, set up over the API as a publisher does."""

import secrets
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from gpuaas_sdk.controller.process import ControllerSettings
from gpuaas_sdk.errors import ServerFailed, Unreachable
from gpuaas_sdk.generated.models import (
    Allocation,
    AppVersion,
    Instance,
    NewAllocation,
    NewInstance,
    NewMemberOperation,
    Operation,
    Placement,
    ReceiptLine,
)
from gpuaas_sdk.promotion import PassedCheck
from gpuaas_sdk.signatures import digest_of
from gpuaas_sdk.sync.wait import wait_for
from gpuaas_sdk.testing.sandbox import Sandbox

DIGEST = "{digest}"  # a placeholder in manifests for the digest of the published bytes
SETTLE = 120.0
TESTED = [PassedCheck(kind, "testing-kit", "passed") for kind in ("lint", "smoke")]


@dataclass
class CatalogApp:
    """An app in the catalogue of a sandbox: `app.publish(manifest, content)`, `app.allocate(2)`, `app.deploy(…)`."""

    sandbox: Sandbox
    slug: str

    @property
    def project_id(self) -> str:
        return self.sandbox.project_id

    def publish(self, manifest: str, content: bytes) -> AppVersion:
        """Publishes the bytes as an artifact, registers the manifest's version, and activates both."""
        admin, project = self.sandbox.admin, self.project_id
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "artifact"
            source.write_bytes(content)
            digest = digest_of(source)
            if admin.artifacts.find(project, digest) is None:
                self._publish_blob(source, digest)
        version = admin.app_versions.register(project, manifest.replace(DIGEST, digest))
        return admin.app_versions.activate(project, version.app_id, version.id)

    def _publish_blob(self, source: Path, digest: str) -> None:
        admin, project = self.sandbox.admin, self.project_id
        intent = admin.publish_intents.create(
            project, "blob", self.slug, media_type="application/octet-stream", size_bytes=source.stat().st_size
        )
        admin.publish_intents.upload(intent, source)
        admin.publish_intents.complete(project, intent.id, digest)
        made = admin.publish_intents.wait_until_checked(project, intent.id, SETTLE)
        if made.artifact_id is None:
            raise RuntimeError(f"the artifact was not accepted: {made}")
        artifact = admin.artifacts.show(project, made.artifact_id)
        admin.artifacts.promote_to(project, artifact, reason="for a test", checks=TESTED)

    def controller(self, replica: str = "replica-1") -> ControllerSettings:
        """Creates a service account that may control the app in this project."""
        name = f"controller-{secrets.token_hex(3)}"
        accounts = self.sandbox.admin.service_accounts
        made = accounts.create(self.project_id, name, ["apps:control"], app_slugs=[self.slug])
        secret = "" if made.key is None else made.key.secret or ""
        return ControllerSettings(
            url=self.sandbox.server.url,
            project_id=self.project_id,
            client_id=made.id,
            client_secret=secret,
            replica=replica,
        )

    def allocate(self, count: int, sku: str = "h100-slice", gpu_count: int | None = 1) -> list[str]:
        """Creates allocations, waits until they are active, and returns their ids."""
        allocations, project = self.sandbox.admin.allocations, self.project_id
        made = allocations.create(project, NewAllocation(sku=sku, gpu_count=gpu_count, count=count))
        seen: dict[str, Allocation] = {}
        for change in allocations.follow(project, [one.id for one in made], SETTLE):
            seen[change.id] = change
        states = {one.id: (seen.get(one.id) or one).state for one in made}
        if set(states.values()) != {"active"}:
            raise RuntimeError(f"not all became active: {states}")
        return list(states)

    def deploy(self, name: str, places: list[tuple[str, str]], **inputs: object) -> tuple[str, Operation]:
        """Deploys an instance and returns its id and the operation. `places` are (component, allocation)."""
        intent = [Placement(component_key=key, allocation_id=one) for key, one in places]
        new = NewInstance(app=self.slug, name=name, placement_intent=intent, inputs=inputs, when_no_controller="queue")
        started = self.sandbox.admin.instances.create(self.project_id, new)
        return started.instance.id, started.operation

    def operate(self, instance_id: str, verb: str, **options: object) -> Operation:
        return self.sandbox.admin.instances.operate(self.project_id, instance_id, verb, options=options).operation

    def change_members(self, instance_id: str, change: NewMemberOperation) -> Operation:
        return self.sandbox.admin.instances.change_members(self.project_id, instance_id, change)

    def ended(self, operation: Operation, seconds: float = SETTLE) -> Operation:
        """Waits until the operation has ended, whatever its outcome. It tolerates a server that a test has killed."""

        def find_ended() -> Operation | None:
            try:
                now = self.sandbox.admin.operations.show(self.project_id, operation.id)
            except (Unreachable, ServerFailed):
                return None
            return None if now.live else now

        return wait_for(find_ended, seconds, what=f"the {operation.kind} to end")

    def rotation_after(self, operation: Operation, seconds: float = SETTLE) -> Operation:
        """Waits for the rotation of shared secrets that must follow this operation, and for its end."""

        def find_rotation() -> Operation | None:
            try:
                return self.sandbox.admin.operations.rotation_after(self.project_id, operation)
            except (Unreachable, ServerFailed):
                return None

        return self.ended(wait_for(find_rotation, seconds, what=f"a rotation after the {operation.kind}"), seconds)

    def instance(self, instance_id: str) -> Instance:
        return self.sandbox.admin.instances.show(self.project_id, instance_id)

    def receipts(self, operation: Operation) -> list[ReceiptLine]:
        return list(self.sandbox.admin.receipts.list(self.project_id, operation_id=operation.id))


def as_replica(settings: ControllerSettings, name: str) -> ControllerSettings:
    """Return the settings of another replica of the same controller, with the same service account."""
    return replace(settings, replica=name)
