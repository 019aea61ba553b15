"""Runtime secrets: sealed to who holds the lease, good for one artifact, for minutes, until the operation ends."""

import base64
import secrets
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from pydantic import SecretStr

from gpuaas_sdk.registry import IMAGE_MANIFEST
from gpuaas_sdk.signatures import public_pem
from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts import runtime_secrets
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.pki import service as pki
from gpuaas_server.runtime import running_platform
from tests_support.agents import MovableClock
from tests_support.artifacts import Json, Workshop, workshop
from tests_support.buckets import running_s3
from tests_support.images import RegistrySite, registry_site
from tests_support.pull_secrets import OPERATION, RECIPIENT, issue, opened


async def pull(shop: Workshop, told: Json, path: str | None = None) -> httpx.Response:
    shown = httpx.BasicAuth(told["username"], told["password"])
    return await shop.site.client.get((path or told["url"]).removeprefix("/api/v1"), auth=shown)


async def test_a_blob_is_pulled_only_with_the_secret(shop: Workshop) -> None:
    artifact, other = await shop.publish_blob(b"a tool"), await shop.publish_blob(b"another", "other")
    secret = await issue(shop, artifact)
    told = opened(secret)
    assert told["password"] not in secret.model_dump_json()
    assert (await pull(shop, told)).content == b"a tool"
    assert (await pull(shop, told | {"password": "wrong"})).status_code == 401
    assert (await pull(shop, told, f"/api/v1/artifact-pulls/{other['id']}")).status_code == 401
    assert (await shop.site.client.get(told["url"].removeprefix("/api/v1"))).status_code == 401


async def test_a_further_artifact_of_the_version_is_pulled_by_its_digest_and_no_other(shop: Workshop) -> None:
    first, second = await shop.publish_blob(b"a tool"), await shop.publish_blob(b"another", "other")
    stranger = await shop.publish_blob(b"of another version", "third")
    told = opened(await issue(shop, first, second, wanted=second["digest"]))
    assert (await pull(shop, told)).content == b"another"
    assert (await pull(shop, opened(await issue(shop, first, second)))).content == b"a tool"
    with pytest.raises(Problem) as refused:
        await issue(shop, first, second, wanted=stranger["digest"])
    assert refused.value.code == "artifact_unknown"


async def test_the_secret_says_where_hosts_find_the_platform_and_whom_they_trust(shop: Workshop) -> None:
    artifact = await shop.publish_blob(b"a tool")
    assert opened(await issue(shop, artifact))["trust"] == []  # without TLS there is nobody to trust
    urls = ["https://gpuaas.example.com/", "https://10.0.0.1:8443"]
    shop.platform.settings = shop.platform.settings.model_copy(update={"agent_urls": urls})
    [authority] = await pki.authorities(shop.platform, "tls_ca")
    told = opened(await issue(shop, artifact))
    assert told["origins"] == ["https://gpuaas.example.com", "https://10.0.0.1:8443"]
    assert told["trust"] == [authority.certificate]


async def test_the_secret_ends_with_its_time_with_the_operation_and_with_the_artifact(shop: Workshop) -> None:
    artifact = await shop.publish_blob(b"a tool")
    clock = MovableClock()
    shop.platform.clock = clock
    short = await issue(shop, artifact, deadline=timedelta(minutes=2))
    assert short.expires_at <= clock() + timedelta(minutes=2)
    clock.ahead = timedelta(minutes=3)
    assert (await pull(shop, opened(short))).status_code == 401
    clock.ahead = timedelta()
    ended = opened(await issue(shop, artifact))
    async with shop.platform.transaction(PLATFORM, system_actor("test")) as tx:
        await runtime_secrets.runtime_secrets_end(tx, OPERATION)
    assert (await pull(shop, ended)).status_code == 401
    revoked = opened(await issue(shop, artifact))
    await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/revoke", {"reason": "a hole"})
    assert (await pull(shop, revoked)).json()["code"] == "artifact_revoked"


async def test_what_is_pulled_is_the_publishers_artifact_and_no_copy_of_another_project(shop: Workshop) -> None:
    """Another project's copy of the same bytes has a trust of its own: it must not open what the publisher revoked."""
    artifact = await shop.publish_blob(b"a tool")
    with pytest.raises(Problem) as unknown:
        await issue(shop, artifact, publisher=new_id("prj"))
    assert unknown.value.code == "artifact_unknown"
    assert (await pull(shop, opened(await issue(shop, artifact)))).content == b"a tool"


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
    async with httpx.AsyncClient(base_url=site.api, auth=(told["username"], told["password"]), timeout=60) as client:
        for repository in (own, other):
            asked = await client.get("/api/v1/registry/token", params={"scope": f"repository:{repository}:pull,push"})
            granted[repository] = asked.json()["token"]
            assert asked.json()["expires_in"] == 60, (
                "a host's token is a new inspect_artifact at the artifact each minute"
            )
    async with httpx.AsyncClient(base_url=f"http://{site.registry}", timeout=60) as client:
        headers = {"Authorization": f"Bearer {granted[own]}", "Accept": IMAGE_MANIFEST}
        assert (await client.get(f"/v2/{own}/manifests/{artifact['digest']}", headers=headers)).status_code == 200
        assert (await client.post(f"/v2/{own}/blobs/uploads/", headers=headers)).status_code == 401
        headers["Authorization"] = f"Bearer {granted[other]}"
        assert (await client.get(f"/v2/{other}/tags/list", headers=headers)).status_code == 401


async def test_an_image_comes_with_the_trust_policy_of_the_tenant_that_launches_it(site: RegistrySite) -> None:
    shop, tenant = site.shop, f"/tenants/{site.shop.tenant_id}"
    artifact = await site.publish()
    assert opened(await issue(shop, artifact))["signature_policy"] == {"require_signature": False, "keys": []}
    pem = public_pem(ec.generate_private_key(ec.SECP256R1()))
    key = await shop.admin.post(f"{tenant}/trust-keys", {"name": "release", "public_key": pem})
    policy = {"require_signature": True, "reason": "all builds are signed"}
    assert (await shop.admin.call("PUT", f"{tenant}/trust-policy", policy)).is_success
    told = opened(await issue(shop, artifact))["signature_policy"]
    shown = {name: key[name] for name in ("fingerprint", "algorithm", "public_key")}
    assert told == {"require_signature": True, "keys": [shown]}
    await shop.admin.post(f"{tenant}/trust-keys/{key['id']}/revoke", {"reason": "lost"})
    assert opened(await issue(shop, artifact))["signature_policy"] == {"require_signature": True, "keys": []}
    blob = await shop.publish_blob(b"a tool")
    assert "signature_policy" not in opened(await issue(shop, blob))


@pytest.fixture
async def shop_with_bucket(settings: Settings, tmp_path: Path) -> AsyncIterator[Workshop]:
    with running_s3(tmp_path, secrets.token_hex(16)) as s3:
        bucket = s3.bucket()
        more = {
            "s3_bucket_url": bucket.url,
            "s3_access_key": SecretStr(bucket.access_key),
            "s3_secret_key": SecretStr(bucket.secret_key),
        }
        async with (
            running_platform(settings.model_copy(update=more)) as platform,
            workshop(platform) as shop,
        ):
            yield shop


async def test_no_address_in_the_bucket_outlives_a_revocation(shop_with_bucket: Workshop) -> None:
    shop = shop_with_bucket
    artifact = await shop.publish_blob(b"a tool")
    told = opened(await issue(shop, artifact))
    assert (told["url"], told["authorization"]) == (f"/api/v1/artifact-pulls/{artifact['id']}", "basic")
    answer = await pull(shop, told)
    assert answer.status_code == 307
    assert "X-Amz-Expires=60&" in answer.headers["location"]
    async with httpx.AsyncClient(timeout=60) as outside:
        assert (await outside.get(answer.headers["location"])).content == b"a tool"
    await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/revoke", {"reason": "a hole"})
    assert (await pull(shop, told)).json()["code"] == "artifact_revoked"
