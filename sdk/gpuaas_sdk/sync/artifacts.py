# Derived from gpuaas_sdk/aio/artifacts.py by tools/sdk-client; change that file instead.
"""Artifacts: uploads and downloads their bytes, waits until the platform has checked them, and promotes them."""

import base64
import hashlib
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

from gpuaas_sdk.errors import GpuaasError, ServerFailed, Unreachable
from gpuaas_sdk.files import size_of
from gpuaas_sdk.generated.models import AppVersion, Artifact, Evidence, InstanceStarted, PublishIntent
from gpuaas_sdk.generated.sync import AppVersionsCalls, ArtifactsCalls, InstancesCalls, PublishIntentsCalls
from gpuaas_sdk.promotion import PassedCheck, stages_to
from gpuaas_sdk.retries import RetryPolicy
from gpuaas_sdk.sync.blob_uploads import PartSender, Progress, chunks_of, send_to_bucket
from gpuaas_sdk.sync.transport import Request, Transport
from gpuaas_sdk.sync.wait import wait_for
from gpuaas_sdk.wire import path_of

CHECK_SECONDS = 3600.0
Received = Callable[[int], None]  # bytes received so far


class PublishIntents(PublishIntentsCalls):
    """Publishes bytes as an artifact: create, upload (or push), complete, wait until they are checked."""

    def begin(
        self, project_id: str, name: str, source: Path, digest: str, *, media_type: str | None = None
    ) -> PublishIntent:
        """Finds the intent of an earlier attempt to publish the same file, or creates one. If it is `verifying`, all bytes
        are there and only the check is left."""
        size = size_of(source)
        for one in self.list(project_id, digest=digest):
            same = (one.kind, one.name, one.digest, one.size_bytes) == ("blob", name, digest, size)
            if same and one.state in ("open", "verifying"):
                return self.show(project_id, one.id)
        return self.create(project_id, "blob", name, media_type=media_type, size_bytes=size, digest=digest)

    def upload(self, intent: PublishIntent, source: Path, progress: Progress = lambda sent, total: None) -> None:
        """Sends the file to where the intent says: the platform's store, or a bucket (without our token). An upload in parts
        sends only the parts that have not arrived, and repeats what fails on the way."""
        ticket = intent.upload
        if intent.part_bytes is not None:
            PartSender(intent, source, progress, self.parts, self.upload_part).send()
        elif ticket is None or ticket.authorised:
            self.upload_content(intent.project_id, intent.id, lambda: chunks_of(source, progress))
        else:
            send_to_bucket(ticket, source, progress)

    def wait_until_checked(self, project_id: str, intent_id: str, deadline: float) -> PublishIntent:
        """Waits until the bytes are checked, whatever the result is."""

        def find_checked() -> PublishIntent | None:
            found = self.show(project_id, intent_id)
            return found if found.state not in ("open", "verifying") else None

        return wait_for(find_checked, deadline, what=f"{intent_id} to be checked")


class Artifacts(ArtifactsCalls):
    def download(
        self, project_id: str, artifact_id: str, target: Path, progress: Received = lambda received: None
    ) -> str:
        """Downloads a blob into a file and returns the digest of the bytes. Compare it before you use them.

        After a broken connection, the download continues where it stopped.
        """
        seen, size, attempt, retry = hashlib.sha256(), 0, 0, RetryPolicy()
        with target.open("wb") as file:
            while True:
                try:
                    whole = self.content(project_id, artifact_id)
                    for chunk in _download_after(self._transport, project_id, artifact_id, size) if size else whole:
                        seen.update(chunk)
                        file.write(chunk)
                        size, attempt = size + len(chunk), 0
                        progress(size)
                    return f"sha256:{seen.hexdigest()}"
                except (Unreachable, ServerFailed) as error:
                    attempt += 1
                    _pause(retry, error, attempt)

    def pull(self, path: str, name: str, password: str) -> bytes:
        """Downloads a blob with the path, name and password of a pull secret."""
        encoded = base64.b64encode(f"{name}:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {encoded}", "Accept": "*/*"}
        content = bytearray()
        for chunk in self._transport.download(Request(method="GET", path=path, headers=headers)):
            content += chunk
        return bytes(content)

    def wait_until_checked(self, project_id: str, artifact_id: str, deadline: float) -> Artifact:
        def find_checked() -> Artifact | None:
            found = self.show(project_id, artifact_id)
            return None if found.checking else found

        return wait_for(find_checked, deadline, what=f"{artifact_id} to be checked")

    def find(self, project_id: str, digest: str) -> Artifact | None:
        """Returns the project's artifact with these bytes, if it has it."""
        for found in self.list(project_id, digest=digest):
            return found
        return None

    def missing_evidence(self, project_id: str, artifact_id: str, kinds: Collection[str]) -> set[str]:
        """Returns the kinds of evidence that the artifact lacks: its publisher recorded nothing of the kind, or the last one
        failed."""
        last: dict[str, bool] = {}
        for one in self.evidence(project_id, artifact_id):
            if one.source == "publisher":
                last.setdefault(one.kind, one.passed)
        return {kind for kind in kinds if not last.get(kind)}

    def promote_to(
        self,
        project_id: str,
        artifact: Artifact,
        stage: str = "active",
        *,
        reason: str,
        checks: Sequence[PassedCheck] = (),
        moved: Callable[[str], None] = lambda stage: None,
    ) -> Artifact:
        """Records those checks that the artifact lacks as evidence, and moves it from stage to stage up to this one.

        A draft is first checked and linted by the platform; this waits for that.

        Each step looks at what is there, so it can be repeated after any failure. `moved` is called after each stage.
        """
        stages = stages_to(artifact, stage)
        if stages and artifact.checking:
            artifact = self.wait_until_checked(project_id, artifact.id, CHECK_SECONDS)
        kinds = [one.kind for one in checks] if artifact.stage == "draft" else []
        missing = self.missing_evidence(project_id, artifact.id, kinds) if kinds else set()
        for one in checks:
            if one.kind in missing:
                self.add_evidence(project_id, artifact.id, one.kind, True, tool=one.tool, summary=one.summary)
        for following in stages:
            percent = 100 if following == "canary" else None
            artifact = self.move(project_id, artifact.id, following, reason, canary_percent=percent)
            moved(following)
        return artifact


class AppVersions(AppVersionsCalls):
    def wait_for_smoke(self, version: AppVersion, started: InstanceStarted, deadline: float) -> Evidence:
        """Waits until the platform has removed what it launched for a smoke test, and returns what that showed."""
        project_id, deploy = version.project_id, started.operation.id
        instances, artifacts = InstancesCalls(self._transport), Artifacts(self._transport)

        def find_outcome() -> Evidence | None:
            artifact = artifacts.find(project_id, version.artifact_digest)
            if artifact is None:
                return None
            shown = (deploy, (instances.show(project_id, started.instance.id)).last_operation_id)
            for one in artifacts.evidence(project_id, artifact.id):
                if (one.kind, one.source) == ("smoke", "platform") and one.operation_id in shown:
                    return one
            return None

        return wait_for(find_outcome, deadline, what=f"the smoke launch {deploy} to end")

    def activate_draft(self, project_id: str, version: AppVersion) -> AppVersion:
        """Activates a version that is a draft. Any other is returned as it is: somebody has decided about it."""
        if version.status != "draft":
            return version
        return self.activate(project_id, version.app_id, version.id)


def _pause(retry: RetryPolicy, error: GpuaasError, attempt: int) -> None:
    delay = retry.delay(error, attempt)
    if delay is None:
        raise error
    time.sleep(delay)


def _download_after(transport: Transport, project_id: str, artifact_id: str, size: int) -> Iterator[bytes]:
    """Yields the bytes of a blob that follow the first `size` ones."""
    path = path_of("projects", project_id, "artifacts", artifact_id, "content")
    return transport.download(Request(method="GET", path=path, headers={"Range": f"bytes={size}-"}))
