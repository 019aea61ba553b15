"""Signatures of images and blobs, held against the real cosign in both directions, and against fixed ones that it made."""

import asyncio
import base64
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_sdk.signatures import payload_of, public_pem, sign_blob, sign_image
from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts.signatures import Signed, blob_signers, read_key, signers
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.artifacts import Json, Workshop, digest_of
from tests_support.cosign import cosign
from tests_support.images import RegistrySite, registry_site
from tests_support.parts import part

VECTORS = json.loads((Path(__file__).parent / "cosign_vectors.json").read_text())
DIGEST = "sha256:" + "ab" * 32


def new_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def signed_by(key: ec.EllipticCurvePrivateKey, payload: bytes) -> Signed:
    return Signed(payload, base64.b64decode(sign_blob(key, digest_of(payload))))


def test_signatures_that_cosign_made_are_good() -> None:
    key = read_key(VECTORS["public_key"])
    image = VECTORS["image"]
    signed = Signed(image["payload"].encode(), base64.b64decode(image["signature"]))
    assert signers([key], image["digest"], [signed]) == {key.fingerprint}
    blob = VECTORS["blob"]
    assert digest_of(blob["content"].encode()) == blob["digest"]
    assert blob_signers([key], blob["digest"], [base64.b64decode(blob["signature"])]) == {key.fingerprint}


def test_a_good_signature_of_another_image_proves_nothing() -> None:
    private = new_key()
    key = read_key(public_pem(private))
    about_another = signed_by(private, payload_of("r/i", "sha256:" + "cd" * 32))
    assert signers([key], DIGEST, [about_another]) == frozenset()
    for hostile in (b"not json", b"[]", b'{"critical": null}', b'{"critical": {"type": "other"}}'):
        assert signers([key], DIGEST, [signed_by(private, hostile)]) == frozenset()


def test_a_signature_by_an_unknown_key_or_over_changed_bytes_is_not_good() -> None:
    private, other = new_key(), new_key()
    key = read_key(public_pem(private))
    payload = payload_of("r/i", DIGEST)
    assert signers([key], DIGEST, [signed_by(private, payload)]) == {key.fingerprint}
    assert signers([key], DIGEST, [signed_by(other, payload)]) == frozenset()
    altered = Signed(payload + b" ", signed_by(private, payload).signature)
    assert signers([key], DIGEST, [altered]) == frozenset()


def test_keys_that_nobody_should_trust_are_refused() -> None:
    small = ec.generate_private_key(ec.SECP192R1()).public_key()
    pem = small.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()
    for text in ("nothing", "-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", pem):
        with pytest.raises(Problem) as refused:
            read_key(text)
        assert refused.value.code == "trust_key_refused"


async def _trust(shop: Workshop, public_key: str, name: str = "release") -> Json:
    return await shop.admin.post(f"/tenants/{shop.tenant_id}/trust-keys", {"name": name, "public_key": public_key})


async def _verified(shop: Workshop, artifact: Json, *signatures: str) -> Json:
    body = {"signatures": [*signatures]} if signatures else {}
    await shop.admin.post(f"{shop.path}/artifacts/{artifact['id']}/verify", body)
    await shop.work()
    return await shop.artifact(artifact["id"])


async def test_a_blob_is_verified_by_a_trust_key_and_loses_it_with_the_key(shop: Workshop) -> None:
    artifact = await shop.publish_blob(b"a tool")
    private = new_key()
    signature = sign_blob(private, artifact["digest"])
    assert (await _verified(shop, artifact, signature))["trust"] == "unverified"  # no trust key yet to hold it against
    key = await _trust(shop, public_pem(private))
    found = await _verified(shop, artifact)
    assert (found["trust"], found["signed_by"]) == ("verified", [key["fingerprint"]])
    path = f"/tenants/{shop.tenant_id}/trust-keys/{key['id']}/revoke"
    assert (await shop.admin.post(path, {"reason": "the laptop was stolen"}))["revoked_at"]
    await shop.work()
    assert (await shop.artifact(artifact["id"]))["trust"] == "unverified"
    again = {"name": "again", "public_key": public_pem(private)}
    assert (await shop.admin.call("POST", f"/tenants/{shop.tenant_id}/trust-keys", again)).json()[
        "code"
    ] == "already_exists"


async def test_a_blob_signed_by_an_unknown_key_fails_verification(shop: Workshop) -> None:
    artifact = await shop.publish_blob(b"a tool")
    await _trust(shop, public_pem(new_key()))
    found = await _verified(shop, artifact, sign_blob(new_key(), artifact["digest"]))
    assert (found["trust"], found["trust_detail"]) == (
        "failed_verification",
        "signed, but by no trust key of the tenant",
    )


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


def _login(site: RegistrySite, directory: Path) -> None:
    """As `docker login` would write it: the user `token`, and an access token as the password."""
    shown = base64.b64encode(f"token:{site.shop.admin.token}".encode()).decode()
    (directory / "config.json").write_text(json.dumps({"auths": {site.registry: {"auth": shown}}}))


async def test_an_image_that_cosign_signed_is_verified_here(site: RegistrySite, tmp_path: Path) -> None:
    part("cosign")
    artifact = await site.publish()
    _login(site, tmp_path)
    await cosign(tmp_path, "generate-key-pair")
    await cosign(tmp_path, "sign", "--yes", "--tlog-upload=false", "--key", "cosign.key", artifact["reference"])
    key = await _trust(site.shop, (tmp_path / "cosign.pub").read_text())
    found = await _verified(site.shop, artifact)
    assert (found["trust"], found["signed_by"]) == ("verified", [key["fingerprint"]])


async def test_an_image_that_we_signed_is_verified_by_cosign(site: RegistrySite, tmp_path: Path) -> None:
    artifact = await site.publish()
    first, second = new_key(), new_key()
    for private in (first, second):
        await asyncio.to_thread(sign_image, site.repository(), artifact["digest"], private)
    await _trust(site.shop, public_pem(first))
    assert (await _verified(site.shop, artifact))["trust"] == "verified"
    part("cosign")
    _login(site, tmp_path)
    for private in (first, second):
        (tmp_path / "ours.pub").write_text(public_pem(private))
        said = await cosign(
            tmp_path, "verify", "--insecure-ignore-tlog=true", "--key", "ours.pub", artifact["reference"]
        )
        assert json.loads(said)[0]["critical"]["image"]["docker-manifest-digest"] == artifact["digest"]


async def test_a_blob_that_cosign_signed_is_verified_here_and_the_reverse(shop: Workshop, tmp_path: Path) -> None:
    part("cosign")
    content = b"a tool in a file"
    (tmp_path / "tool").write_bytes(content)
    artifact = await shop.publish_blob(content)
    await cosign(tmp_path, "generate-key-pair")
    signature = await cosign(tmp_path, "sign-blob", "--yes", "--tlog-upload=false", "--key", "cosign.key", "tool")
    key = await _trust(shop, (tmp_path / "cosign.pub").read_text())
    found = await _verified(shop, artifact, signature.strip())
    assert (found["trust"], found["signed_by"]) == ("verified", [key["fingerprint"]])
    private = new_key()
    (tmp_path / "ours.pub").write_text(public_pem(private))
    (tmp_path / "tool.sig").write_text(sign_blob(private, artifact["digest"]))
    arguments = ("--insecure-ignore-tlog=true", "--key", "ours.pub", "--signature", "tool.sig", "tool")
    await cosign(tmp_path, "verify-blob", *arguments)
