"""Artifacts: publishing bytes, whom they are trusted by, and how far they are promoted."""

import base64
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

import httpx

from gpuaas_sdk.calls import Calls, Pages, given
from gpuaas_sdk.errors import GpuaasError, Problem, ServerFailed
from gpuaas_sdk.nodes import Failure
from gpuaas_sdk.reader import Resource
from gpuaas_sdk.transport import Request, path_of
from gpuaas_sdk.waiting import wait_for

CHUNK = 1 << 20
UPLOAD_TIMEOUT = httpx.Timeout(60.0, write=60.0)
Progress = Callable[[int, int], None]  # bytes sent, bytes in all


@dataclass(frozen=True, kw_only=True)
class UploadTicket:
    method: str = "PUT"
    url: str = ""
    authorised: bool = False
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class RegistryPlace:
    registry: str = ""
    repository: str = ""


@dataclass(frozen=True, kw_only=True)
class PublishIntent(Resource):
    id: str
    state: str
    project_id: str = ""
    kind: str = ""
    name: str = ""
    media_type: str = ""
    size_bytes: int | None = None
    digest: str | None = None
    deadline_at: datetime | None = None
    upload: UploadTicket | None = None
    push: RegistryPlace | None = None
    failure: Failure | None = None
    artifact_id: str | None = None
    created_by: str = ""
    created_at: datetime | None = None
    ended_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class UploadedContent(Resource):
    digest: str = ""
    size_bytes: int = 0


@dataclass(frozen=True, kw_only=True)
class Artifact(Resource):
    id: str
    digest: str
    stage: str
    trust: str
    project_id: str = ""
    kind: str = ""
    name: str = ""
    size_bytes: int = 0
    media_type: str = ""
    reference: str | None = None
    stage_since: datetime | None = None
    canary_percent: int = 0
    trust_detail: str = ""
    signed_by: list[str] = field(default_factory=list)
    checking: bool = False
    checked_at: datetime | None = None
    created_by: str = ""
    created_at: datetime | None = None
    generation: int = 0
    allowed_actions: list[str] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Evidence(Resource):
    id: str
    artifact_id: str = ""
    kind: str = ""
    passed: bool = False
    tool: str = ""
    summary: str = ""
    submitted_by: str = ""
    created_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class TrustPolicy(Resource):
    tenant_id: str = ""
    require_signature: bool = False
    updated_by: str | None = None
    updated_at: datetime | None = None
    generation: int = 0


@dataclass(frozen=True, kw_only=True)
class TrustKey(Resource):
    id: str
    name: str = ""
    public_key: str = ""
    fingerprint: str = ""
    algorithm: str = ""
    created_by: str = ""
    created_at: datetime | None = None
    revoked_at: datetime | None = None
    revoked_reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class RuntimeSecret(Resource):
    """`sealed` opens with the private side of the key that it was asked for with; `runtime-secret:<id>` is the info."""

    id: str
    sealed: str
    purpose: str = ""
    digest: str = ""
    kind: str = ""
    format: str = ""
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class RegistryToken(Resource):
    token: str
    expires_in: int = 0


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


class PublishIntents(Calls):
    """The way of bytes to an artifact: create, upload (or push), complete, and wait until they were checked."""

    def create(
        self,
        project_id: str,
        kind: str,
        name: str,
        *,
        media_type: str | None = None,
        size_bytes: int | None = None,
    ) -> PublishIntent:
        body = given(kind=kind, name=name, media_type=media_type, size_bytes=size_bytes)
        return self._change("POST", PublishIntent, *_intents(project_id), body=body)

    def list(self, project_id: str) -> Pages[PublishIntent]:
        return self._pages(PublishIntent, *_intents(project_id))

    def show(self, project_id: str, intent_id: str) -> PublishIntent:
        return self._read(PublishIntent, *_intents(project_id), intent_id)

    def complete(self, project_id: str, intent_id: str, digest: str) -> PublishIntent:
        path = (*_intents(project_id), intent_id, "complete")
        return self._change("POST", PublishIntent, *path, body={"digest": digest})

    def cancel(self, project_id: str, intent_id: str) -> PublishIntent:
        return self._change("POST", PublishIntent, *_intents(project_id), intent_id, "cancel")

    def upload(self, intent: PublishIntent, source: Path, progress: Progress = lambda sent, total: None) -> None:
        """Send the file to where the intent says: the platform's own store, or a bucket, without our token."""
        ticket = intent.upload
        if ticket is None or ticket.authorised:
            self.upload_content(intent.project_id, intent.id, source, progress)
            return
        size = source.stat().st_size
        headers = {**ticket.headers, "Content-Length": str(size)}
        try:
            answer = httpx.request(
                ticket.method, ticket.url, content=_chunks(source, progress), headers=headers, timeout=UPLOAD_TIMEOUT
            )
        except httpx.TransportError as error:
            raise _storage_failed(f"The bucket cannot be reached: {error}.") from error
        if not answer.is_success:
            raise _storage_failed(f"The bucket answered {answer.status_code}.")

    def upload_content(
        self, project_id: str, intent_id: str, source: Path, progress: Progress = lambda sent, total: None
    ) -> UploadedContent:
        request = Request(
            method="PUT",
            path=path_of(*_intents(project_id), intent_id, "content"),
            content=lambda: _chunks(source, progress),
            headers={"Content-Type": "application/octet-stream"},
        )
        return self._record(UploadedContent, request)

    def settled(self, project_id: str, intent_id: str, deadline: float) -> PublishIntent:
        """Wait until the bytes were checked, whatever came of it."""

        def ended() -> PublishIntent | None:
            found = self.show(project_id, intent_id)
            return found if found.state not in ("open", "verifying") else None

        return wait_for(ended, deadline, what=f"{intent_id} to be checked")


class Artifacts(Calls):
    def list(self, project_id: str, *, stage: str | None = None, digest: str | None = None) -> Pages[Artifact]:
        return self._pages(Artifact, *_artifacts(project_id), stage=stage, digest=digest)

    def show(self, project_id: str, artifact_id: str) -> Artifact:
        return self._read(Artifact, *_artifacts(project_id), artifact_id)

    def download(self, project_id: str, artifact_id: str, target: Path) -> str:
        """The bytes of a blob into a file; the digest of what came. Compare it before you use them."""
        request = Request(method="GET", path=path_of(*_artifacts(project_id), artifact_id, "content"))
        seen = hashlib.sha256()
        with target.open("wb") as file:
            for chunk in self._transport.download(request):
                seen.update(chunk)
                file.write(chunk)
        return f"sha256:{seen.hexdigest()}"

    def add_evidence(
        self, project_id: str, artifact_id: str, kind: str, passed: bool, *, tool: str, summary: str
    ) -> Evidence:
        body = {"kind": kind, "passed": passed, "tool": tool, "summary": summary}
        return self._change("POST", Evidence, *_artifacts(project_id), artifact_id, "evidence", body=body)

    def evidence(self, project_id: str, artifact_id: str) -> Pages[Evidence]:
        return self._pages(Evidence, *_artifacts(project_id), artifact_id, "evidence")

    def move(
        self,
        project_id: str,
        artifact_id: str,
        stage: str,
        reason: str,
        *,
        canary_percent: int | None = None,
        generation: int | None = None,
    ) -> Artifact:
        body = given(stage=stage, reason=reason, canary_percent=canary_percent)
        path = (*_artifacts(project_id), artifact_id, "move")
        return self._change("POST", Artifact, *path, body=body, generation=generation)

    def verify(self, project_id: str, artifact_id: str, signatures: Sequence[str] = ()) -> Artifact:
        """Ask for a check of bytes and signatures; `checked` waits for what came of it."""
        body = given(signatures=[*signatures] or None)
        return self._change("POST", Artifact, *_artifacts(project_id), artifact_id, "verify", body=body)

    def checked(self, project_id: str, artifact_id: str, deadline: float) -> Artifact:
        def done() -> Artifact | None:
            found = self.show(project_id, artifact_id)
            return None if found.checking else found

        return wait_for(done, deadline, what=f"{artifact_id} to be checked")

    def revoke(self, project_id: str, artifact_id: str, reason: str) -> Artifact:
        path = (*_artifacts(project_id), artifact_id, "revoke")
        return self._change("POST", Artifact, *path, body={"reason": reason})

    def registry_token(self, scope: str) -> RegistryToken:
        """A registry token of minutes, for what the caller may do of `repository:<name>:pull,push`."""
        return self._read(RegistryToken, "registry", "token", scope=scope)

    def pull_secret(self, project_id: str, operation_id: str, lease_token: str, recipient_key: str) -> RuntimeSecret:
        """For the holder of the operation's lease: what its hosts show to pull the artifact, sealed to a key of yours."""
        body = {"lease_token": lease_token, "recipient_key": recipient_key, "purpose": "artifact_pull"}
        path = ("projects", project_id, "operations", operation_id, "runtime-secrets")
        return self._change("POST", RuntimeSecret, *path, body=body)

    def pull(self, path: str, name: str, password: str) -> bytes:
        """The bytes of a blob, by what a pull secret says: where, and who it is for."""
        shown = base64.b64encode(f"{name}:{password}".encode()).decode()
        headers = {"Authorization": f"Basic {shown}", "Accept": "*/*"}
        return self._transport.send(Request(method="GET", path=path, headers=headers)).content


class Trust(Calls):
    """Of a tenant: whether it needs signatures, and whose."""

    def policy(self, tenant_id: str) -> TrustPolicy:
        return self._read(TrustPolicy, "tenants", tenant_id, "trust-policy")

    def set_policy(
        self, tenant_id: str, *, require_signature: bool, reason: str, generation: int | None = None
    ) -> TrustPolicy:
        body = {"require_signature": require_signature, "reason": reason}
        path = ("tenants", tenant_id, "trust-policy")
        return self._change("PUT", TrustPolicy, *path, body=body, generation=generation)

    def keys(self, tenant_id: str) -> Pages[TrustKey]:
        return self._pages(TrustKey, "tenants", tenant_id, "trust-keys")

    def add_key(self, tenant_id: str, name: str, public_key: str) -> TrustKey:
        body = {"name": name, "public_key": public_key}
        return self._change("POST", TrustKey, "tenants", tenant_id, "trust-keys", body=body)

    def revoke_key(self, tenant_id: str, key_id: str, reason: str) -> TrustKey:
        path = ("tenants", tenant_id, "trust-keys", key_id, "revoke")
        return self._change("POST", TrustKey, *path, body={"reason": reason})


def _chunks(source: Path, progress: Progress) -> Iterator[bytes]:
    total, sent = source.stat().st_size, 0
    with source.open("rb") as file:
        while chunk := file.read(CHUNK):
            yield chunk
            sent += len(chunk)
            progress(sent, total)


def _storage_failed(detail: str) -> GpuaasError:
    problem = Problem(
        code="storage_unavailable",
        status=0,
        detail=detail,
        next_step="Try again; if it repeats, tell the platform's operators.",
        retryable=True,
        correlation_id="",
    )
    return ServerFailed(problem)


def _intents(project_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "publish-intents")


def _artifacts(project_id: str) -> tuple[str, ...]:
    return ("projects", project_id, "artifacts")
