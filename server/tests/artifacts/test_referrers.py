"""Signatures beside an image: at cosign's tag, by the referrers API, and by the tag that stands for it."""

import base64
import json
from collections.abc import Iterator

import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_sdk.signatures import payload_of, public_pem, sign_blob
from gpuaas_server.artifacts.external_transport import ExternalTransport
from gpuaas_server.artifacts.oci import Registry
from gpuaas_server.artifacts.signatures import (
    ANNOTATION,
    PAYLOAD_TYPE,
    SIGNATURE_TYPE,
    read_key,
    referrers_tag,
    signature_tag,
    signers,
)
from gpuaas_server.kernel.allowed_hosts import AllowedHosts
from tests_support.external_registries import (
    INDEX_TYPE,
    MANIFEST_TYPE,
    FaultyRegistry,
    answer,
    described,
    digest_of,
    faulty_registry,
    small_image,
)

REPOSITORY = "team/trainer"
IMAGE = small_image()
PRIVATE = ec.generate_private_key(ec.SECP256R1())
KEY = read_key(public_pem(PRIVATE))


def signature(about: str, subject: str | None) -> tuple[bytes, bytes]:
    """The payload and the manifest of one signature, as cosign makes them."""
    payload = payload_of(f"host/{REPOSITORY}", about)
    annotations = {ANNOTATION: sign_blob(PRIVATE, digest_of(payload))}
    assert base64.b64decode(annotations[ANNOTATION])
    manifest: dict[str, object] = {
        "schemaVersion": 2,
        "mediaType": MANIFEST_TYPE,
        "config": described(SIGNATURE_TYPE, b"{}"),
        "layers": [{**described(PAYLOAD_TYPE, payload), "annotations": annotations}],
    }
    if subject is not None:
        manifest["subject"] = {"mediaType": MANIFEST_TYPE, "size": 1, "digest": subject}
    return payload, json.dumps(manifest).encode()


def index(*manifests: bytes, kind: str = SIGNATURE_TYPE) -> bytes:
    listed = [{**described(MANIFEST_TYPE, one), "artifactType": kind} for one in manifests]
    return json.dumps({"schemaVersion": 2, "mediaType": INDEX_TYPE, "manifests": listed}).encode()


@pytest.fixture
def registry() -> Iterator[FaultyRegistry]:
    with faulty_registry() as running:
        running.hold(REPOSITORY, IMAGE)
        yield running


def hold(registry: FaultyRegistry, manifest: bytes, payload: bytes, *tags: str) -> None:
    for name in (digest_of(manifest), *tags):
        registry.content[f"/v2/{REPOSITORY}/manifests/{name}"] = (MANIFEST_TYPE, manifest)
    registry.content[f"/v2/{REPOSITORY}/blobs/{digest_of(payload)}"] = ("application/octet-stream", payload)


async def signed_by(registry: FaultyRegistry) -> frozenset[str]:
    transport = ExternalTransport(AllowedHosts(f"http://{registry.address}"), registry.address, None)
    found = await Registry(transport).signatures(REPOSITORY, IMAGE.digest)
    return signers([KEY], IMAGE.digest, found)


async def test_a_signature_at_cosigns_tag_counts(registry: FaultyRegistry) -> None:
    payload, manifest = signature(IMAGE.digest, None)
    assert await signed_by(registry) == frozenset()
    hold(registry, manifest, payload, signature_tag(IMAGE.digest))
    assert await signed_by(registry) == {KEY.fingerprint}


async def test_a_signature_that_the_referrers_api_lists_counts(registry: FaultyRegistry) -> None:
    payload, manifest = signature(IMAGE.digest, IMAGE.digest)
    hold(registry, manifest, payload)
    path = f"/v2/{REPOSITORY}/referrers/{IMAGE.digest}"
    registry.content[path] = (INDEX_TYPE, index(manifest, kind="application/other"))
    assert await signed_by(registry) == frozenset()
    registry.content[path] = (INDEX_TYPE, index(manifest))
    assert await signed_by(registry) == {KEY.fingerprint}


@pytest.mark.parametrize("status", [404, 405])
async def test_without_that_api_the_referrers_tag_counts(registry: FaultyRegistry, status: int) -> None:
    payload, manifest = signature(IMAGE.digest, IMAGE.digest)
    hold(registry, manifest, payload)
    registry.replies[f"/v2/{REPOSITORY}/referrers/{IMAGE.digest}"] = answer(status)
    registry.content[f"/v2/{REPOSITORY}/manifests/{referrers_tag(IMAGE.digest)}"] = (INDEX_TYPE, index(manifest))
    assert await signed_by(registry) == {KEY.fingerprint}


async def test_a_signature_of_another_image_or_with_another_subject_counts_for_nothing(
    registry: FaultyRegistry,
) -> None:
    another = "sha256:" + "ab" * 32
    path = f"/v2/{REPOSITORY}/referrers/{IMAGE.digest}"
    for about, subject in ((another, IMAGE.digest), (IMAGE.digest, another), (IMAGE.digest, None)):
        payload, manifest = signature(about, subject)
        hold(registry, manifest, payload)
        registry.content[path] = (INDEX_TYPE, index(manifest))
        assert await signed_by(registry) == frozenset(), (about, subject)


@pytest.mark.parametrize(
    "said",
    [
        b"{}",
        b'{"manifests": 5}',
        b'{"manifests": [1, {"digest": "../../x", "artifactType": "%s"}]}' % SIGNATURE_TYPE.encode(),
    ],
)
async def test_an_index_of_nonsense_lists_nothing(registry: FaultyRegistry, said: bytes) -> None:
    registry.content[f"/v2/{REPOSITORY}/referrers/{IMAGE.digest}"] = (INDEX_TYPE, said)
    assert await signed_by(registry) == frozenset()
