"""Runtime secrets as a controller gets them: for an operation whose lease somebody holds, opened with the controller's key."""

import base64
import json
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_server.artifacts import runtime_secrets
from gpuaas_server.artifacts.schemas import RuntimeSecret, RuntimeSecretCreate
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.ids import new_id
from tests_support.artifacts import Json, Workshop

OPERATION = new_id("op")
RECIPIENT = X25519PrivateKey.generate()
SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


@dataclass(frozen=True)
class LeasedOperation:
    """The lease of an operation is the operations' own matter, and tested there; here somebody holds one."""

    tenant_id: str
    project_id: str
    digests: tuple[str, ...]
    deadline_at: datetime
    publisher_project_id: str
    operation_id: str = OPERATION


async def issue(
    shop: Workshop,
    *artifacts: Json,
    deadline: timedelta = timedelta(hours=1),
    publisher: str | None = None,
    wanted: str | None = None,
    tenant: str | None = None,
) -> RuntimeSecret:
    until, digests = shop.platform.clock() + deadline, tuple(artifact["digest"] for artifact in artifacts)
    launcher = tenant or shop.tenant_id
    leased = LeasedOperation(launcher, shop.project_id, digests, until, publisher or shop.project_id)
    key = base64.b64encode(RECIPIENT.public_key().public_bytes_raw()).decode()
    body = RuntimeSecretCreate(lease_token="held", recipient_key=key, digest=wanted)
    actor, platform = system_actor("controller"), shop.platform
    async with platform.database.connection(Scope(launcher)) as connection:
        secret_id = await runtime_secrets.pull_secret_id(connection, leased, body)
    credential = await runtime_secrets.open_pull_credential(platform, secret_id)
    async with platform.transaction(Scope(launcher), actor) as tx:
        return await runtime_secrets.runtime_secret_create(tx, platform.settings, leased, body, credential)


def opened(secret: RuntimeSecret) -> Json:
    box = base64.b64decode(secret.sealed)
    clear: Json = json.loads(SUITE.decrypt(box, RECIPIENT, info=f"runtime-secret:{secret.id}".encode()))
    return clear
