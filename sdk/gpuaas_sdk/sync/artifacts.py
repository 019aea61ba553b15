# Derived from gpuaas_sdk/aio/artifacts.py by tools/sdk-client; change that file instead.
"""Artifacts: uploads and downloads their bytes, and waits until the platform has checked them."""

import base64
import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx

from gpuaas_sdk.errors import Problem, ServerFailed
from gpuaas_sdk.generated.models import Artifact, PublishIntent, UploadTicket
from gpuaas_sdk.generated.sync import ArtifactsCalls, PublishIntentsCalls
from gpuaas_sdk.sync.transport import Request
from gpuaas_sdk.sync.wait import wait_for

CHUNK = 1 << 20
UPLOAD_TIMEOUT = httpx.Timeout(60.0, write=60.0)
Progress = Callable[[int, int], None]  # bytes sent, total bytes


class PublishIntents(PublishIntentsCalls):
    """Publishes bytes as an artifact: create, upload (or push), complete, wait until they are checked."""

    def upload(self, intent: PublishIntent, source: Path, progress: Progress = lambda sent, total: None) -> None:
        """Sends the file to where the intent says: the platform's store, or a bucket (without our token)."""
        ticket = intent.upload
        if ticket is None or ticket.authorised:
            self.upload_content(intent.project_id, intent.id, lambda: _chunks(source, progress))
        else:
            _to_bucket(ticket, source, progress)

    def wait_until_checked(self, project_id: str, intent_id: str, deadline: float) -> PublishIntent:
        """Waits until the bytes are checked, whatever the result is."""

        def find_checked() -> PublishIntent | None:
            found = self.show(project_id, intent_id)
            return found if found.state not in ("open", "verifying") else None

        return wait_for(find_checked, deadline, what=f"{intent_id} to be checked")


class Artifacts(ArtifactsCalls):
    def download(self, project_id: str, artifact_id: str, target: Path) -> str:
        """Downloads a blob into a file and returns the digest of the bytes. Compare it before you use them."""
        received = hashlib.sha256()
        with target.open("wb") as file:
            for chunk in self.content(project_id, artifact_id):
                received.update(chunk)
                file.write(chunk)
        return f"sha256:{received.hexdigest()}"

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


def _to_bucket(ticket: UploadTicket, source: Path, progress: Progress) -> None:
    headers = {**ticket.headers, "Content-Length": str(_size(source))}
    try:
        with httpx.Client(timeout=UPLOAD_TIMEOUT) as bucket:
            content = _chunks(source, progress)
            answer = bucket.request(ticket.method, ticket.url, content=content, headers=headers)
    except httpx.TransportError as error:
        raise _storage_failed(f"The bucket cannot be reached: {error}.") from error
    if not answer.is_success:
        raise _storage_failed(f"The bucket answered {answer.status_code}.")


def _chunks(source: Path, progress: Progress) -> Iterator[bytes]:
    total, sent = _size(source), 0
    with source.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
            sent += len(chunk)
            progress(sent, total)


def _size(source: Path) -> int:
    return source.stat().st_size


def _storage_failed(detail: str) -> ServerFailed:
    problem = Problem(
        code="storage_unavailable",
        status=0,
        detail=detail,
        next_step="Try again. If it fails again, tell the platform's operators.",
        retryable=True,
    )
    return ServerFailed(problem)
