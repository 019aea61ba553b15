"""Runtime secrets: the credentials with which a host pulls one artifact (`artifact_pull`) while an operation runs."""

import hashlib
import hmac
from datetime import datetime, timedelta
from secrets import token_urlsafe

import orjson

from gpuaas_server.artifacts import backends, queries
from gpuaas_server.artifacts.external_images import open_credential, registry_authorities, registry_scheme
from gpuaas_server.artifacts.external_transport import PullCredential
from gpuaas_server.artifacts.rows import ArtifactRow, PullableArtifact, RuntimeSecretRow
from gpuaas_server.artifacts.schemas import RuntimeSecret, RuntimeSecretCreate
from gpuaas_server.artifacts.stages import Trust
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import PLATFORM, Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.operations.service import LeasedOperation
from gpuaas_server.pki import service as pki
from gpuaas_server.secrets import service as secrets

LONGEST = timedelta(minutes=15)  # a controller that needs longer asks again, as long as it has its lease
SLOWEST_PULL = 8 << 20  # bytes a second: a large artifact may be pulled for longer, with interruptions
_NO_DIGEST = bytes(32)


def secret_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def pull_path(artifact_id: str) -> str:
    return f"/api/v1/artifact-pulls/{artifact_id}"


@dataclass(frozen=True, slots=True)
class OpenedCredential:
    """The credential of an external image, opened before the transaction that hands it on."""

    secret_id: str
    credential: PullCredential


async def pull_secret_id(connection: Connection, leased: LeasedOperation, body: RuntimeSecretCreate) -> str | None:
    """Return which secret has the credential of the artifact's registry; None for the platform's own and a public image."""
    return (await _artifact_to_pull(connection, leased, body)).pull_secret_id


async def open_pull_credential(platform: Platform, secret_id: str | None) -> OpenedCredential | None:
    """Open the credential. It reaches beyond the database: call it outside transactions."""
    credential = await open_credential(platform, secret_id)
    return None if credential is None or secret_id is None else OpenedCredential(secret_id, credential)


async def _artifact_to_pull(
    connection: Connection, leased: LeasedOperation, body: RuntimeSecretCreate
) -> PullableArtifact:
    wanted = body.digest or next(iter(leased.digests), None)
    artifact = (
        await queries.artifact_to_pull(connection, wanted, leased.publisher_project_id)
        if wanted in leased.digests and wanted is not None
        else None
    )
    if artifact is None:
        raise Problem("artifact_unknown", f"The operation's version has no registered artifact{_named(body)}.")
    _refuse_revoked(artifact)
    if artifact.pull_secret_id is not None and artifact.tenant_id != leased.tenant_id:
        raise Problem("pull_credential_private", "Only the publisher's own tenant may use the credential.")
    return artifact


async def runtime_secret_create(
    tx: Tx,
    settings: Settings,
    leased: LeasedOperation,
    body: RuntimeSecretCreate,
    opened: OpenedCredential | None = None,
) -> RuntimeSecret:
    """Issue a secret to whoever holds the operation's lease. It is sealed to their key: nobody else can read the answer.

    For an image in an external registry it has the credential for that registry, which `open_pull_credential` opened.
    """
    project_id, operation_id = leased.project_id, leased.operation_id
    artifact = await _artifact_to_pull(tx.connection, leased, body)
    if artifact.pull_secret_id != (opened and opened.secret_id):
        raise Problem("conflict", "The image's credential was replaced at the same moment. Try again.")
    secret_id, secret = new_id("rts"), token_urlsafe(32)
    size = await queries.artifact_size_to_pull(tx.connection, artifact.id)
    expires_at = min(leased.deadline_at, tx.now + LONGEST + timedelta(seconds=(size or 0) // SLOWEST_PULL))
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
    content = {"username": secret_id, "password": secret, **await _source(tx, settings, artifact, size)}
    if artifact.kind == "oci":
        content["signature_policy"] = await _signature_policy(tx.connection, leased.tenant_id)
    if artifact.registry is not None:
        shown = PullCredential("", "") if opened is None else opened.credential
        content |= {"username": shown.username, "password": shown.password}
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


def _named(body: RuntimeSecretCreate) -> str:
    return "" if body.digest is None else f" {body.digest}"


async def _source(tx: Tx, settings: Settings, artifact: PullableArtifact, size: int | None) -> dict[str, object]:
    """Return where to pull from: an image by its reference, with any registry client; a blob by the API's own path, at
    one of the addresses that hosts have for the platform.

    The bucket's URL is made when the secret is used (artifact_pull), so that what is revoked meanwhile is not given out.
    """
    if artifact.registry is not None:
        encrypted = registry_scheme(settings, artifact.registry) == "https"
        reference = f"{artifact.registry}/{artifact.location}@{artifact.digest}"
        trust = registry_authorities(settings) if encrypted else []
        return {"registry": artifact.registry, "reference": reference, "tls": encrypted, "trust": trust}
    anchors = [key.certificate for key in await pki.published_keys(tx.connection, "tls_ca") if key.certificate]
    if artifact.kind == "oci":
        host, encrypted = backends.registry_host(settings), backends.registry_url(settings).startswith("https:")
        reference = f"{host}/{artifact.location}@{artifact.digest}"
        return {"registry": host, "reference": reference, "tls": encrypted, "trust": anchors, "size_bytes": size}
    https = any(url.startswith("https://") for url in settings.agent_urls)
    trust = anchors if https else []
    origins = [url.rstrip("/") for url in settings.agent_urls]
    return {
        "url": pull_path(artifact.id),
        "authorization": "basic",
        "origins": origins,
        "trust": trust,
        "size_bytes": size,
    }


async def _signature_policy(connection: Connection, tenant_id: str) -> dict[str, object]:
    """Return whether the tenant that launches requires a signature, and its keys: the host checks the image by them.

    Keys that it has revoked are left out, so that what only they signed is not trusted any more.
    """
    policy = await queries.policy_show(connection, tenant_id)
    keys = [one for one in await queries.tenant_keys(connection, tenant_id) if one.revoked_at is None]
    return {
        "require_signature": policy is not None and policy.require_signature,
        "keys": [
            {"fingerprint": one.fingerprint, "algorithm": one.algorithm, "public_key": one.public_key} for one in keys
        ],
    }


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
