"""Runtime secrets: what a host shows to pull one artifact (`artifact_pull`) while an operation runs."""

import hashlib
import hmac
from datetime import datetime, timedelta
from secrets import token_urlsafe

import orjson

from gpuaas_server.artifacts import backends, queries
from gpuaas_server.artifacts.rows import ArtifactRow, PullableArtifact, RuntimeSecretRow
from gpuaas_server.artifacts.schemas import RuntimeSecret, RuntimeSecretCreate
from gpuaas_server.artifacts.stages import Trust
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.operations.service import LeasedOperation
from gpuaas_server.pki import service as pki
from gpuaas_server.secrets import service as secrets

LONGEST = timedelta(minutes=15)  # a controller that needs longer asks again, as long as it has its lease
_NO_DIGEST = bytes(32)


def secret_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def pull_path(artifact_id: str) -> str:
    return f"/api/v1/artifact-pulls/{artifact_id}"


async def runtime_secret_create(
    tx: Tx, settings: Settings, leased: LeasedOperation, body: RuntimeSecretCreate
) -> RuntimeSecret:
    """Issue a secret to whoever holds the operation's lease. It is sealed to their key: nobody else can read the answer."""
    project_id, operation_id = leased.project_id, leased.operation_id
    artifact = await _artifact_of(tx, leased, body.digest)
    secret_id, secret = new_id("rts"), token_urlsafe(32)
    expires_at = min(leased.deadline_at, tx.now + LONGEST)
    row = RuntimeSecretRow(
        id=secret_id,
        tenant_id=leased.tenant_id,
        project_id=project_id,
        purpose=body.purpose,
        operation_id=operation_id,
        artifact_id=artifact.id,
        secret_digest=secret_digest(secret),
        issued_to=tx.actor.id,
        created_at=tx.now,
        expires_at=expires_at,
    )
    await queries.secret_insert(tx.connection, row)
    content = {"username": secret_id, "password": secret, **await _source(tx, settings, artifact)}
    details: dict[str, object] = {"purpose": body.purpose, "operation": operation_id, "artifact": artifact.id}
    await audit.record(
        tx, AuditEntry("runtime_secret_create", secret_id, leased.tenant_id, project_id, details=details)
    )
    return RuntimeSecret(
        id=secret_id,
        purpose=body.purpose,
        digest=artifact.digest,
        kind=artifact.kind,
        expires_at=expires_at,
        format=secrets.BOX_FORMAT,
        sealed=secrets.seal_to(body.recipient_key, orjson.dumps(content), f"runtime-secret:{secret_id}"),
    )


async def _artifact_of(tx: Tx, leased: LeasedOperation, wanted: str | None) -> PullableArtifact:
    """Return the artifact that the operation's version runs from; no other can be pulled with the lease."""
    digest = wanted or leased.digest
    if wanted is not None and wanted not in (leased.digest, *leased.further_digests):
        raise Problem("artifact_unknown", f"The operation's version does not name the artifact {wanted}.")
    publisher = leased.publisher_project_id
    artifact = None if digest is None else await queries.artifact_to_pull(tx.connection, digest, publisher)
    if artifact is None:
        raise Problem("artifact_unknown", "The operation's version has no registered artifact.")
    _refuse_revoked(artifact)
    return artifact


async def _source(tx: Tx, settings: Settings, artifact: PullableArtifact) -> dict[str, object]:
    """Return where to pull from: an image by its reference, with any registry client; a blob by the API's own path, at
    one of the addresses that hosts have for the platform.

    The bucket's URL is made when the secret is used (artifact_pull), so that what is revoked meanwhile is not given out.
    """
    if artifact.kind == "oci":
        host = backends.registry_host(settings)
        return {"registry": host, "reference": f"{host}/{artifact.location}@{artifact.digest}"}
    https = any(url.startswith("https://") for url in settings.agent_urls)
    anchors = await pki.published_keys(tx.connection, "tls_ca") if https else []
    trust = [key.certificate for key in anchors if key.certificate]
    origins = [url.rstrip("/") for url in settings.agent_urls]
    return {"url": pull_path(artifact.id), "authorization": "basic", "origins": origins, "trust": trust}


async def runtime_secrets_end(tx: Tx, operation_id: str) -> None:
    """Revoke every secret that was issued for an operation, since it has ended."""
    await queries.secrets_revoke(tx.connection, operation_id, tx.now)


async def runtime_secrets_forget(tx: Tx, before: datetime, portion: int) -> int:
    return await queries.secrets_delete_before(tx.connection, before, portion)


async def open_secret(platform: Platform, secret_id: str, secret: str) -> ArtifactRow:
    """Return the artifact of a valid secret. A secret is valid until it expires or is revoked."""
    async with platform.database.connection(PLATFORM) as connection:
        row = await queries.secret_find_live(connection, secret_id, platform.clock())
        known = row.secret_digest if row else _NO_DIGEST
        if not hmac.compare_digest(known, secret_digest(secret)) or row is None:
            raise Problem("bad_credentials")
        artifact = await queries.artifact_load(connection, row.artifact_id)
        if artifact is None:
            raise Problem("bad_credentials")
        _refuse_revoked(artifact)
        await queries.secret_touch(connection, secret_id, platform.clock())
    return artifact


def _refuse_revoked(artifact: ArtifactRow | PullableArtifact) -> None:
    if artifact.trust == Trust.REVOKED:
        raise Problem("artifact_revoked", artifact.trust_detail)
