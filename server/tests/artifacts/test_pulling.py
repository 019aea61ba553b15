"""Runtime secrets: sealed to who holds the lease, good for one artifact, for minutes, until the operation ends."""

import base64
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_sdk.registry import IMAGE_MANIFEST
from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts import pulling
from gpuaas_server.artifacts.schemas import RuntimeSecret, RuntimeSecretCreate
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.agents import MovableClock
from tests_support.artifacts import Json, Workshop
from tests_support.images import RegistrySite, registry_site

OPERATION = new_id("op")
RECIPIENT = X25519PrivateKey.generate()
SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


@dataclass(frozen=True)
class Held:
    """The lease of an operation is the operations' own matter, and tested there; here somebody holds one."""

    tenant_id: str
    project_id: str
    digest: str | None
    deadline_at: datetime
    operation_id: str = OPERATION


async def issue(shop: Workshop, artifact: Json, deadline: timedelta = timedelta(hours=1)) -> RuntimeSecret:
    leased = Held(shop.tenant_id, shop.project_id, artifact["digest"], shop.platform.clock() + deadline)
    body = RuntimeSecretCreate(
        lease_token="held", recipient_key=base64.b64encode(RECIPIENT.public_key().public_bytes_raw()).decode()
    )
    actor = system_actor("controller")
    async with shop.platform.transaction(Scope(shop.tenant_id), actor) as tx:
        return await pulling.runtime_secret_create(tx, shop.platform.settings, leased, body)


def opened(secret: RuntimeSecret) -> Json:
    box = base64.b64decode(secret.sealed)
    clear: Json = json.loads(SUITE.decrypt(box, RECIPIENT, info=f"runtime-secret:{secret.id}".encode()))
    return clear


async def pull(shop: Workshop, told: Json, path: str | None = None) -> httpx.Response:
    shown = httpx.BasicAuth(told["username"], told["password"])
    return await shop.site.client.get((path or told["url"]).removeprefix("/api/v1"), auth=shown)


async def test_a_blob_is_pulled_with_the_secret_and_by_nobody_without(shop: Workshop) -> None:
    artifact, other = await shop.publish_blob(b"a tool"), await shop.publish_blob(b"another", "other")
    secret = await issue(shop, artifact)
    told = opened(secret)
    assert told["password"] not in secret.model_dump_json()
    assert (await pull(shop, told)).content == b"a tool"
    assert (await pull(shop, told | {"password": "wrong"})).status_code == 401
    assert (await pull(shop, told, f"/api/v1/artifact-pulls/{other['id']}")).status_code == 401
    assert (await shop.site.client.get(told["url"].removeprefix("/api/v1"))).status_code == 401


async def test_the_secret_ends_with_its_time_with_the_operation_and_with_the_artifact(shop: Workshop) -> None:
    artifact = await shop.publish_blob(b"a tool")
    clock = MovableClock()
    shop.platform.clock = clock
    short = await issue(shop, artifact, timedelta(minutes=2))
    assert short.expires_at <= clock() + timedelta(minutes=2)
    clock.ahead = timedelta(minutes=3)
    assert (await pull(shop, opened(short))).status_code == 401
    clock.ahead = timedelta()
    ended = opened(await issue(shop, artifact))
    async with shop.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await pulling.secrets_end(tx, OPERATION)
    assert (await pull(shop, ended)).status_code == 401
    revoked = opened(await issue(shop, artifact))
    await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/revoke", {"reason": "a hole"})
    assert (await pull(shop, revoked)).json()["code"] == "artifact_revoked"


async def test_without_a_lease_there_is_no_secret(shop: Workshop) -> None:
    made = await shop.admin.post(f"{shop.path}/service-accounts", {"name": "c", "scopes": ["projects:read"]})
    grant = {"grant_type": "client_credentials", "client_id": made["id"], "client_secret": made["key"]["secret"]}
    token = (await shop.site.client.post("/auth/token", json=grant)).json()["access_token"]
    key = base64.b64encode(RECIPIENT.public_key().public_bytes_raw()).decode()
    answer = await shop.site.client.post(
        f"{shop.path}/operations/{OPERATION}/runtime-secrets",
        json={"lease_token": "guessed", "recipient_key": key},
        headers={"Authorization": f"Bearer {token}"},
    )
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.fixture
async def site(settings: Settings) -> AsyncIterator[RegistrySite]:
    port = free_port()
    more = {"registry_bind": f"127.0.0.1:{free_port()}", "agent_urls": [f"http://127.0.0.1:{port}"]}
    with_registry = settings.model_copy(update=more)
    async with (
        running_platform(with_registry) as platform,
        registry_site(platform, with_registry, port) as running,
    ):
        yield running


async def test_an_image_is_pulled_by_the_token_protocol_and_nothing_beside_it(site: RegistrySite) -> None:
    artifact = await site.publish()
    await site.push("other")
    told = opened(await issue(site.shop, artifact))
    assert told["reference"] == artifact["reference"]
    own, other = f"{site.shop.project_id}/image", f"{site.shop.project_id}/other"
    granted = {}
    async with httpx.AsyncClient(base_url=site.api, auth=(told["username"], told["password"])) as client:
        for repository in (own, other):
            asked = await client.get("/api/v1/registry/token", params={"scope": f"repository:{repository}:pull,push"})
            granted[repository] = asked.json()["token"]
    async with httpx.AsyncClient(base_url=f"http://{site.registry}") as client:
        headers = {"Authorization": f"Bearer {granted[own]}", "Accept": IMAGE_MANIFEST}
        assert (await client.get(f"/v2/{own}/manifests/{artifact['digest']}", headers=headers)).status_code == 200
        assert (await client.post(f"/v2/{own}/blobs/uploads/", headers=headers)).status_code == 401
        headers["Authorization"] = f"Bearer {granted[other]}"
        assert (await client.get(f"/v2/{other}/tags/list", headers=headers)).status_code == 401
