"""Publishes an app in a project: its image and files, evidence, stages, the version.

Each step looks first at what there is, so that a publication that was broken off goes on from there.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuaas_catalogue.manifests import manifest_of
from gpuaas_sdk import Client
from gpuaas_sdk.generated.models import AppVersion, Artifact
from gpuaas_sdk.image_layouts import ImageLayout, push_image
from gpuaas_sdk.promotion import PassedCheck
from gpuaas_sdk.registry import Repository
from gpuaas_sdk.signatures import digest_of

CHECK_SECONDS = 1800.0
_REASON = "published from the catalogue's package"
_TOOL = "gpuaas-catalogue"
_LINT = "The recipe's layers and configuration have the digests that the manifest names."


class NotPublished(Exception):
    """The platform did not accept an artifact; the text says why."""


@dataclass(frozen=True)
class Publication:
    """`smoke` says what was run with the image and passed; the platform keeps it as evidence."""

    client: Client
    project_id: str
    smoke: str
    ca_file: str | None = None  # of the registry's certificate

    def publish(self, app: str, image: ImageLayout, files: Mapping[str, Path] | None = None) -> AppVersion:
        """Publish the app with this image. `files` are what its manifest names besides, such as `weights`."""
        further = files or {}
        digests = {"image": image.digest, **{name: digest_of(file) for name, file in further.items()}}
        manifest = manifest_of(app, digests)
        self._promote(self._ensure_image(app, image))
        for name, file in further.items():
            self._promote(self._ensure_file(f"{app}-{name}", file, digests[name]))
        version = self.client.app_versions.register(self.project_id, manifest)
        return self.client.app_versions.activate_draft(self.project_id, version)

    def _ensure_image(self, app: str, image: ImageLayout) -> Artifact:
        known = self.client.artifacts.find(self.project_id, image.digest)
        if known is not None:
            return known
        intent = self.client.publish_intents.create(self.project_id, "oci", app)
        if intent.push is None:
            raise NotPublished("This platform has no image registry. Set GPUAAS_REGISTRY_BIND or GPUAAS_REGISTRY_URL.")
        push_image(image, Repository(intent.push.registry, intent.push.repository, self._token, self.ca_file))
        return self._registered(intent.id, image.digest)

    def _ensure_file(self, name: str, file: Path, digest: str) -> Artifact:
        known = self.client.artifacts.find(self.project_id, digest)
        if known is not None:
            return known
        size = file.stat().st_size
        intent = self.client.publish_intents.create(self.project_id, "blob", name, size_bytes=size)
        self.client.publish_intents.upload(intent, file)
        return self._registered(intent.id, digest)

    def _registered(self, intent_id: str, digest: str) -> Artifact:
        self.client.publish_intents.complete(self.project_id, intent_id, digest)
        done = self.client.publish_intents.wait_until_checked(self.project_id, intent_id, CHECK_SECONDS)
        if done.artifact_id is None:
            raise NotPublished(f"The platform did not accept {digest}: {done.failure or done.state}")
        return self.client.artifacts.wait_until_checked(self.project_id, done.artifact_id, CHECK_SECONDS)

    def _promote(self, artifact: Artifact) -> None:
        checks = [PassedCheck("lint", _TOOL, _LINT), PassedCheck("smoke", _TOOL, self.smoke)]
        self.client.artifacts.promote_to(self.project_id, artifact, reason=_REASON, checks=checks)

    def _token(self, scope: str) -> str:
        return self.client.artifacts.registry_token(scope=[scope]).token
