"""Runtime secrets, of the one purpose `artifact_pull`: what a host shows to pull one artifact while an operation runs."""

import hashlib
import hmac
import secrets
from datetime import datetime, timedelta
from typing import Protocol

import orjson
from psycopg.rows import DictRow

from gpuaas_server.artifacts import places, queries
from gpuaas_server.artifacts.schemas import RuntimeSecret, RuntimeSecretCreate
from gpuaas_server.artifacts.stages import Trust
from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.secrets import sealed_box

LONGEST = timedelta(minutes=15)  # a controller that needs longer asks again, as long as it has its lease
_NO_DIGEST = bytes(32)


def secret_digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def pull_path(artifact_id: str) -> str:
    return f"/api/v1/artifact-pulls/{artifact_id}"


class Leased(Protocol):
    """As much of an operation as this room needs, from the room of operations, to which a lease was shown."""

    @property
    def operation_id(self) -> str: ...
    @property
    def tenant_id(self) -> str: ...
    @property
    def project_id(self) -> str: ...
    @property
    def digest(self) -> str | None: ...
    @property
    def deadline_at(self) -> datetime: ...


async def runtime_secret_create(tx: Tx, settings: Settings, leased: Leased, body: RuntimeSecretCreate) -> RuntimeSecret:
    """For whoever holds the operation's lease, sealed to their key: the answer itself tells nothing to anybody else."""
    project_id, operation_id = leased.project_id, leased.operation_id
    artifact = (
        None if leased.digest is None else await queries.artifact_to_pull(tx.connection, leased.digest, project_id)
    )
    if artifact is None:
        raise Problem("artifact_unknown", "The operation's version has no registered artifact.")
    _refuse_revoked(artifact)
    secret_id, secret = new_id("rts"), secrets.token_urlsafe(32)
    expires_at = min(leased.deadline_at, tx.now + LONGEST)
    values = {
        "id": secret_id,
        "tenant_id": leased.tenant_id,
        "project_id": project_id,
        "operation_id": operation_id,
        "artifact_id": artifact["id"],
        "secret_digest": secret_digest(secret),
        "issued_to": tx.actor.id,
        "now": tx.now,
        "expires_at": expires_at,
    }
    await queries.secret_insert(tx.connection, values)
    seconds = max(1, int((expires_at - tx.now).total_seconds()))
    told = {"username": secret_id, "password": secret, **_where(settings, artifact, seconds)}
    details: dict[str, object] = {"purpose": body.purpose, "operation": operation_id, "artifact": artifact["id"]}
    await audit.record(
        tx, AuditEntry("runtime_secret_create", secret_id, leased.tenant_id, project_id, details=details)
    )
    return RuntimeSecret(
        id=secret_id,
        purpose=body.purpose,
        digest=artifact["digest"],
        kind=artifact["kind"],
        expires_at=expires_at,
        format=sealed_box.FORMAT,
        sealed=sealed_box.seal_to(body.recipient_key, orjson.dumps(told), f"runtime-secret:{secret_id}"),
    )


def _where(settings: Settings, artifact: DictRow, seconds: int) -> dict[str, str]:
    """An image by its reference, for any client that can log in to a registry; a blob by a URL."""
    if artifact["kind"] == "oci":
        host = places.registry_host(settings)
        return {"registry": host, "reference": f"{host}/{artifact['location']}@{artifact['digest']}"}
    ticket = places.blob_store(settings).download_ticket(artifact["location"], pull_path(artifact["id"]), seconds)
    return {"url": ticket.url, "authorization": "basic" if ticket.authorised else "none"}


async def secrets_end(tx: Tx, operation_id: str) -> None:
    """The operation has ended: so has everything that was issued for it."""
    await queries.secrets_revoke(tx.connection, operation_id, tx.now)


async def secrets_forget(tx: Tx, before: datetime, portion: int) -> int:
    return await queries.secrets_delete_before(tx.connection, before, portion)


class Pulled:
    """The artifact that a secret opens."""

    def __init__(self, row: DictRow) -> None:
        self.artifact_id: str = row["id"]
        self.kind: str = row["kind"]
        self.location: str = row["location"]


async def secret_opened(platform: Platform, secret_id: str, secret: str) -> Pulled:
    """Whoever shows it is believed until it expires or is revoked, and only for its artifact."""
    async with platform.database.connection(PLATFORM) as connection:
        row = await queries.secret_live(connection, secret_id, platform.clock())
        known = bytes(row["secret_digest"]) if row else _NO_DIGEST
        if not hmac.compare_digest(known, secret_digest(secret)) or row is None:
            raise Problem("bad_credentials")
        artifact = await queries.artifact_load(connection, row["artifact_id"])
        if artifact is None:
            raise Problem("bad_credentials")
        _refuse_revoked(artifact)
        await queries.secret_used(connection, secret_id, platform.clock())
    return Pulled(artifact)


def _refuse_revoked(artifact: DictRow) -> None:
    if artifact["trust"] == Trust.REVOKED:
        raise Problem("artifact_revoked", artifact["trust_detail"])
