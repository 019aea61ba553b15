"""Publishes an app in the platform's project, as any publisher does: bytes, evidence, stages, version.

Each step looks first at what there is, so that a process that was killed at any of them goes on from there.
"""

import asyncio
import logging
from dataclasses import dataclass

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.generated.models import AppVersion, Artifact
from gpuaas_sdk.platform_apps.declaration import AppNotReady, PlatformApp

CHECK_SECONDS = 600.0
STAGES = ("staged", "canary", "active")
LATER_STAGES = ("deprecated", "retired")  # somebody has decided about it: nothing is done
EVIDENCE = {
    "lint": "The manifest names the digest of the file in the package.",
    "smoke": "The package was tested with its release.",
}
REASON = "The package is installed on the platform."
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Publication:
    """The publication of one app from its package."""

    api: AsyncClient
    project_id: str
    app: PlatformApp
    package: str

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
        if version.status != "draft":
            return version
        active = await self.api.app_versions.activate(self.project_id, version.app_id, version.id)
        log.info("%s %s is published", active.slug, active.version)
        return active

    async def _registered(self) -> AppVersion | None:
        async for app in self.api.apps.list(self.project_id):
            if app.slug == self.app.slug:
                async for version in self.api.app_versions.list(self.project_id, app.id):
                    if version.version == self.app.version:
                        return version
        return None

    async def _artifact(self, digest: str) -> Artifact:
        known = await self._known_artifact(digest)
        if known is not None:
            return known
        source, intents = self.app.artifact, self.api.publish_intents
        if source is None:
            raise AppNotReady("It has a manifest and names no artifact.")
        size = source.stat().st_size
        media_type = self.app.media_type
        intent = await intents.create(self.project_id, "blob", self.app.slug, media_type=media_type, size_bytes=size)
        await intents.upload(intent, source)
        await intents.complete(self.project_id, intent.id, digest)
        made = await intents.wait_until_checked(self.project_id, intent.id, CHECK_SECONDS)
        if made.artifact_id is not None:
            return await self.api.artifacts.show(self.project_id, made.artifact_id)
        known = await self._known_artifact(digest)
        if known is None:
            raise AppNotReady(f"The platform did not accept the artifact: {made.state}.")
        return known  # an earlier attempt, which was killed while the platform checked it, was first

    async def _known_artifact(self, digest: str) -> Artifact | None:
        async for found in self.api.artifacts.list(self.project_id, digest=digest):
            return found
        return None

    async def _promote(self, artifact: Artifact) -> None:
        if artifact.stage in LATER_STAGES:
            raise AppNotReady(
                f"Its artifact {artifact.digest} is {artifact.stage}. Promote it again, or install another."
            )
        known = {one.kind async for one in self.api.artifacts.evidence(self.project_id, artifact.id) if one.passed}
        missing = EVIDENCE.keys() - known
        seen = EVIDENCE | await self._check() if missing else EVIDENCE
        for kind, summary in seen.items():
            if kind in missing:
                await self.api.artifacts.add_evidence(
                    self.project_id,
                    artifact.id,
                    kind,
                    True,
                    tool="gpuaas-platform-apps",
                    summary=self._summary(summary),
                )
        done = STAGES.index(artifact.stage) + 1 if artifact.stage in STAGES else 0
        for stage in STAGES[done:]:
            percent = 100 if stage == "canary" else None
            await self.api.artifacts.move(self.project_id, artifact.id, stage, REASON, canary_percent=percent)

    async def _check(self) -> dict[str, str]:
        check, source = self.app.check, self.app.artifact
        return {} if check is None or source is None else dict(await asyncio.to_thread(check, source))

    def _summary(self, text: str) -> str:
        return f"{text} {self.package}".strip()
