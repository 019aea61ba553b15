"""External registries with TLS: the operator's authority, signatures that the real cosign made, and registries that lie."""

import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.artifacts import Json, Workshop, workshop
from tests_support.authorities import Authority, ServerFiles
from tests_support.cosign import cosign
from tests_support.external_images import REPOSITORY, Outside, count_secrets, register_external
from tests_support.external_registries import (
    PASSWORD,
    USER,
    FaultyRegistry,
    PasswordRegistry,
    basic,
    faulty_registry,
    password_registry,
    redirect,
    small_image,
)
from tests_support.pull_secrets import issue, opened

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server_files(authority: Authority) -> ServerFiles:
    return authority.server_files(HOST)


@pytest.fixture(scope="module")
def registry(server_files: ServerFiles, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PasswordRegistry]:
    with password_registry(f"{HOST}:{free_port()}", tmp_path_factory.mktemp("external"), server_files) as running:
        yield running


@pytest.fixture
def faulty(server_files: ServerFiles) -> Iterator[FaultyRegistry]:
    with faulty_registry(tls=server_files) as running:
        running.challenge = 'Basic realm="outside"'
        yield running


@asynccontextmanager
async def listed(settings: Settings, address: str, ca_file: Path | None) -> AsyncIterator[Workshop]:
    """A platform that may call this registry, and knows this authority besides the public ones."""
    changed = settings.model_copy(update={"external_registries": address, "external_registry_ca_file": ca_file})
    async with running_platform(changed) as platform, workshop(platform) as shop:
        yield shop


@pytest.fixture
async def outside(settings: Settings, registry: PasswordRegistry, authority: Authority) -> AsyncIterator[Outside]:
    async with listed(settings, registry.address, authority.ca_file) as shop:
        yield Outside(shop, registry)


async def _launch_codes(shop: Workshop, artifact: Json) -> list[str]:
    async with shop.platform.database.connection(PLATFORM) as connection:
        place = (shop.project_id, artifact["digest"], shop.project_id)
        return [one.code for one in await artifacts.launch_refusals(connection, shop.tenant_id, *place)]


async def _require_signatures(shop: Workshop, public_key: str) -> str:
    """Trust this key alone; its fingerprint."""
    tenant = f"/tenants/{shop.tenant_id}"
    key = await shop.admin.post(f"{tenant}/trust-keys", {"name": "release", "public_key": public_key})
    policy = {"require_signature": True, "reason": "all builds are signed"}
    assert (await shop.admin.call("PUT", f"{tenant}/trust-policy", policy)).is_success
    return str(key["fingerprint"])


async def _cosign_keys(folder: Path, registry: PasswordRegistry, name: str) -> Path:
    """A key pair that cosign made, and its login at the registry."""
    place = folder / name
    place.mkdir()
    shown = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    (place / "config.json").write_text(json.dumps({"auths": {registry.address: {"auth": shown}}}))
    await cosign(place, "generate-key-pair")
    return place


async def test_only_what_cosign_signed_with_a_trust_key_launches_where_signatures_are_required(
    outside: Outside, authority: Authority, tmp_path: Path
) -> None:
    shop, ours, strangers = (
        outside.shop,
        *[await _cosign_keys(tmp_path, outside.registry, name) for name in ("ours", "strangers")],
    )
    fingerprint = await _require_signatures(shop, (ours / "cosign.pub").read_text())
    signers = (ours, None, strangers)
    found = []
    for keys in signers:
        reference = await outside.push(small_image())
        if keys is not None:
            arguments = ("sign", "--yes", "--tlog-upload=false", "--key", "cosign.key", reference)
            await cosign(keys, *arguments, ca_file=authority.ca_file)
        intent = await outside.register(reference)
        assert intent["state"] == "registered", intent
        await shop.work()
        found.append(await shop.artifact(intent["artifact_id"]))
    signed, unsigned, wrong = found
    assert (signed["trust"], signed["signed_by"]) == ("verified", [fingerprint])
    assert (unsigned["trust"], unsigned["trust_detail"]) == ("unverified", "not signed")
    assert (wrong["trust"], wrong["signed_by"]) == ("failed_verification", [])
    await shop.promote(signed, "staged", "canary", "active")
    assert await _launch_codes(shop, signed) == []
    for other in (unsigned, wrong):
        assert "artifact_untrusted" in await _launch_codes(shop, other)
    await shop.promote(unsigned, "staged")
    for other, stage in ((unsigned, "canary"), (wrong, "staged")):
        refused = (await shop.move(other, stage, **({"canary_percent": 50} if stage == "canary" else {}))).json()
        assert [one["code"] for one in refused["details"]["refusals"]][:1] == ["artifact_untrusted"], refused
    told = opened(await issue(shop, signed))
    assert (told["tls"], told["trust"], told["password"]) == (True, [authority.pem], PASSWORD)
    assert [one["fingerprint"] for one in told["signature_policy"]["keys"]] == [fingerprint]


async def test_a_certificate_of_an_unknown_authority_is_refused_before_the_password_is_sent(
    settings: Settings, faulty: FaultyRegistry, tmp_path: Path
) -> None:
    reference = faulty.hold(REPOSITORY, small_image())
    stranger = Authority(tmp_path, "another authority")
    async with listed(settings, faulty.address, None) as shop:
        for known in (None, stranger.ca_file):
            update = {"external_registry_ca_file": known}
            shop.platform.settings = shop.platform.settings.model_copy(update=update)
            intent = await register_external(shop, reference)
            assert (intent["state"], intent["failure"]["code"]) == ("failed", "registry_untrusted"), intent
        assert await count_secrets(shop, "wrapped_key IS NOT NULL") == 0
    assert faulty.seen == []


async def test_a_certificate_for_another_address_is_refused(settings: Settings, authority: Authority) -> None:
    with faulty_registry(tls=authority.server_files("127.0.0.2")) as elsewhere:
        reference = elsewhere.hold(REPOSITORY, small_image())
        async with listed(settings, elsewhere.address, authority.ca_file) as shop:
            intent = await register_external(shop, reference)
        assert (intent["state"], intent["failure"]["code"]) == ("failed", "registry_untrusted"), intent
        assert elsewhere.seen == []


async def test_an_authority_that_the_operator_removes_stops_checks_and_takes_no_trust_away(outside: Outside) -> None:
    artifact, shop = await outside.artifact(), outside.shop
    await shop.work()
    shop.platform.settings = shop.platform.settings.model_copy(update={"external_registry_ca_file": None})
    await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/verify", {})
    await shop.work()
    found = await shop.artifact(artifact["id"])
    assert (found["trust"], found["checking"]) == ("unverified", False)
    assert found["trust_detail"] == "the last check could not be made: registry_untrusted"


async def test_a_file_without_certificates_is_waited_for(outside: Outside, tmp_path: Path) -> None:
    shop, reference = outside.shop, await outside.push(small_image())
    for content in (None, "not a certificate"):
        if content is not None:
            (tmp_path / "authorities.pem").write_text(content)
        update = {"external_registry_ca_file": tmp_path / "authorities.pem"}
        shop.platform.settings = shop.platform.settings.model_copy(update=update)
        waiting = await outside.register(reference)
        assert (waiting["state"], waiting["failure"]["code"]) == ("verifying", "registry_unavailable")


async def test_a_registry_with_tls_that_lies_or_redirects_is_refused(
    settings: Settings, authority: Authority, server_files: ServerFiles, faulty: FaultyRegistry
) -> None:
    image = small_image()
    reference, manifest = faulty.hold(REPOSITORY, image), f"/v2/{REPOSITORY}/manifests/{image.digest}"
    with faulty_registry(tls=server_files) as other, faulty_registry() as plain:
        async with listed(settings, faulty.address, authority.ca_file) as shop:
            kind, right = faulty.content[manifest]
            faulty.content[manifest] = (kind, small_image().manifest)
            lied = await register_external(shop, reference)
            assert (lied["state"], lied["failure"]["code"]) == ("failed", "digest_mismatch"), lied
            faulty.content[manifest] = (kind, right)
            targets = (f"https://{other.address}/there", f"http://{plain.address}/there", f"http://{faulty.address}/x")
            for target in targets:
                faulty.replies[manifest] = redirect(target)
                sent = await register_external(shop, reference)
                assert (sent["state"], sent["failure"]["code"]) == ("failed", "registry_not_allowed"), target
            del faulty.replies[manifest]
            assert (await register_external(shop, reference))["state"] == "registered"
        assert (other.seen, plain.seen) == ([], [])
    assert basic() in faulty.credentials_seen(manifest)
