"""Publishes an app in the platform's project, as any publisher does: bytes, evidence, stages, version.

Each step looks first at what there is, so that a process that was killed at any of them goes on from there.
"""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.errors import Conflict
from gpuaas_sdk.generated.models import AppVersion, Artifact
from gpuaas_sdk.image_layouts import ImageLayout, push_image
from gpuaas_sdk.platform_apps.declaration import AppNotReady, PlatformApp
from gpuaas_sdk.promotion import PassedCheck
from gpuaas_sdk.registry import Repository

CHECK_SECONDS = 600.0
TOKEN_SECONDS = 60.0
EVIDENCE = {
    "lint": "The manifest names the digest of the file in the package.",
    "smoke": "The package was tested with its release.",
}
TOOL = "gpuaas-platform-apps"
REASON = "The package is installed on the platform."
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication of one app from its package."""

    api: AsyncClient
    project_id: str
    app: PlatformApp
    package: str
    ca_file: str | None = None  # of the registry's certificate

    async def ensure(self) -> AppVersion:
        """Return the version of the installed package, published. A version that is there already is left as it is."""
        digest = self.app.digest()
        known = await self._registered()
        if known is not None and known.artifact_digest != digest:
            raise AppNotReady(
                f"{known.slug} {known.version} is published with the artifact {known.artifact_digest}, and the package has"
                f" {digest}: a change needs a new version."
            )
        if known is not None and known.status != "draft":
            return known
        await self._promote(await self._artifact(digest))
        manifest = self.app.manifest_of(digest)
        version = known or await self.api.app_versions.register(self.project_id, manifest)
        active = await self.api.app_versions.activate_draft(self.project_id, version)
        log.info("%s %s is %s", active.slug, active.version, active.status)
        return active

    async def _registered(self) -> AppVersion | None:
        async for app in self.api.apps.list(self.project_id):
            if app.slug == self.app.slug:
                async for version in self.api.app_versions.list(self.project_id, app.id):
                    if version.version == self.app.version:
                        return version
        return None

    async def _artifact(self, digest: str) -> Artifact:
        known = await self.api.artifacts.find(self.project_id, digest)
        if known is not None:
            return known
        source, intents = self.app.artifact, self.api.publish_intents
        if source is None:
            raise AppNotReady("The app has a manifest, but no artifact.")
        send = self._push if self.app.artifact_kind == "oci" else self._upload
        intent_id = await send(source)
        await intents.complete(self.project_id, intent_id, digest)
        made = await intents.wait_until_checked(self.project_id, intent_id, CHECK_SECONDS)
        if made.artifact_id is not None:
            return await self.api.artifacts.wait_until_checked(self.project_id, made.artifact_id, CHECK_SECONDS)
        known = await self.api.artifacts.find(self.project_id, digest)
        if known is None:
            why = made.failure.message if made.failure is not None else made.state
            raise AppNotReady(f"The platform did not accept the artifact: {why}.")
        return known  # an earlier attempt, which was killed while the platform checked it, was first

    async def _upload(self, source: Path) -> str:
        intents, media_type = self.api.publish_intents, self.app.media_type
        size = (await asyncio.to_thread(source.stat)).st_size
        intent = await intents.create(self.project_id, "blob", self.app.slug, media_type=media_type, size_bytes=size)
        await intents.upload(intent, source)
        return intent.id

    async def _push(self, folder: Path) -> str:
        intent = await self.api.publish_intents.create(self.project_id, "oci", self.app.slug)
        if intent.push is None:
            raise AppNotReady("This platform has no image registry.")
        loop = asyncio.get_running_loop()

        def token(scope: str) -> str:
            """Return a token. The thread that pushes calls this."""
            asked = asyncio.run_coroutine_threadsafe(self.api.artifacts.registry_token(scope=[scope]), loop)
            return asked.result(TOKEN_SECONDS).token

        repository = Repository(intent.push.registry, intent.push.repository, token, self.ca_file)
        await asyncio.to_thread(push_image, ImageLayout(folder), repository)
        return intent.id

    async def _promote(self, artifact: Artifact) -> None:
        artifacts = self.api.artifacts
        missing = await artifacts.missing_evidence(self.project_id, artifact.id, EVIDENCE)
        seen = EVIDENCE | await self._check() if missing else EVIDENCE
        checks = [PassedCheck(kind, TOOL, self._summary(seen[kind])) for kind in missing]
        try:
            await artifacts.promote_to(self.project_id, artifact, reason=REASON, checks=checks)
        except Conflict as refused:
            raise AppNotReady(f"{refused.detail} {refused.next_step}") from refused

    async def _check(self) -> dict[str, str]:
        check, source = self.app.check, self.app.artifact
        return {} if check is None or source is None else dict(await asyncio.to_thread(check, source))

    def _summary(self, text: str) -> str:
        return f"{text} {self.package}".strip()
