"""The check of an image's signature as a host makes it, with its own Python and openssl: against registries that lie."""

import base64
import json
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_containers.hostside import command_of
from gpuaas_sdk.signatures import ANNOTATION, PAYLOAD_TYPE, payload_of, signature_manifest
from gpuaas_server.artifacts.signatures import SIGNATURE_TYPE, read_key
from tests_support.authorities import Authority
from tests_support.external_registries import (
    MANIFEST_TYPE,
    PASSWORD,
    USER,
    FaultyRegistry,
    answer,
    basic,
    digest_of,
    faulty_registry,
    redirect,
)

PrivateKey = ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey | Ed25519PrivateKey
Json = dict[str, object]
REPOSITORY, IMAGE, OTHER = "team/web", digest_of(b"the image"), digest_of(b"another image")
TAG = f"/v2/{REPOSITORY}/manifests/{IMAGE.replace(':', '-')}.sig"
REFERRERS = f"/v2/{REPOSITORY}/referrers/{IMAGE}"
# The same answers as those of the whole program: {"done": …} or {"failed": …}.
PROGRAM = """
import json, sys, time
from host_commands import Failed
from host_signatures import verify
try:
    request = json.load(sys.stdin)
    print(json.dumps({"done": verify(request, time.monotonic() + request["seconds"])}))
except Failed as failed:
    print(json.dumps({"failed": failed.code, "message": str(failed)}))
"""
KEYS: dict[str, PrivateKey] = {
    "p256": ec.generate_private_key(ec.SECP256R1()),
    "p384": ec.generate_private_key(ec.SECP384R1()),
    "rsa": rsa.generate_private_key(65537, 2048),
    "ed25519": Ed25519PrivateKey.generate(),
}
STRANGER = ec.generate_private_key(ec.SECP256R1())


@pytest.fixture
def registry() -> Iterator[FaultyRegistry]:
    with faulty_registry() as made:
        made.challenge = 'Basic realm="outside"'
        yield made


def sign(key: PrivateKey, payload: bytes) -> bytes:
    if isinstance(key, Ed25519PrivateKey):
        return key.sign(payload)
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(payload, padding.PKCS1v15(), hashes.SHA256())
    return key.sign(payload, ec.ECDSA(hashes.SHA256()))


def public(key: PrivateKey) -> Json:
    pem = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    known = read_key(pem.decode())
    return {"fingerprint": known.fingerprint, "algorithm": known.algorithm, "public_key": known.pem}


def fingerprint(key: PrivateKey) -> object:
    return public(key)["fingerprint"]


def hold(registry: FaultyRegistry, *layers: tuple[bytes, str], served: bytes | None = None) -> bytes:
    """Serve these payloads with their signatures; `served` is what comes instead of the payloads' bytes."""
    described = []
    for payload, signature in layers:
        digest = digest_of(payload)
        described.append(
            {"mediaType": PAYLOAD_TYPE, "size": 1, "digest": digest, "annotations": {ANNOTATION: signature}}
        )
        content = payload if served is None else served
        registry.content[f"/v2/{REPOSITORY}/blobs/{digest}"] = ("application/octet-stream", content)
    manifest = signature_manifest(described)[0]
    registry.content[TAG] = (MANIFEST_TYPE, manifest)
    return manifest


def layer(key: PrivateKey, digest: str = IMAGE) -> tuple[bytes, str]:
    payload = payload_of("anything/at-all", digest)
    return payload, base64.b64encode(sign(key, payload)).decode()


def verify(
    registry: FaultyRegistry, kept: Path, /, *keys: PrivateKey, required: bool = True, **changes: object
) -> Json:
    request = {
        "digest": IMAGE,
        "reference": f"{registry.address}/{REPOSITORY}@{IMAGE}",
        "registry": registry.address,
        "username": USER,
        "password": PASSWORD,
        "tls": False,
        "trust": [],
        "seconds": 20,
        "signature_policy": {"required": required, "keys": [public(one) for one in keys]},
        "signature_file": str(kept / "signature.json"),
        **changes,
    }
    done = subprocess.run(command_of(PROGRAM), input=json.dumps(request), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: Json = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", KEYS)
def test_a_signature_by_a_key_of_the_operation_counts(registry: FaultyRegistry, tmp_path: Path, kind: str) -> None:
    key = KEYS[kind]
    hold(registry, layer(STRANGER), layer(key))
    assert verify(registry, tmp_path, *KEYS.values()) == {"done": {"status": "verified", "key": fingerprint(key)}}
    assert basic() in registry.credentials_seen(TAG)


@pytest.mark.parametrize("kind", KEYS)
def test_a_good_signature_of_another_image_or_of_other_bytes_proves_nothing(
    registry: FaultyRegistry, tmp_path: Path, kind: str
) -> None:
    key = KEYS[kind]
    payload, _ = layer(key)
    for forged in (layer(key, OTHER), (payload, layer(key, OTHER)[1]), (payload, "bm90IG9uZQ=="), (payload, "")):
        hold(registry, forged)
        found = verify(registry, tmp_path, key)
        assert found["failed"] == "signature_invalid", forged
    assert list(tmp_path.iterdir()) == [], "what is not good is not kept"


def test_no_signature_a_stranger_s_and_no_key_at_all_are_told_apart(registry: FaultyRegistry, tmp_path: Path) -> None:
    assert verify(registry, tmp_path, KEYS["p256"])["failed"] == "signature_missing"
    hold(registry, layer(STRANGER))
    assert verify(registry, tmp_path, KEYS["p256"])["failed"] == "signature_invalid"
    assert verify(registry, tmp_path)["failed"] == "signature_invalid", "its only key is revoked"


def test_where_the_policy_asks_for_none_the_host_says_so_and_asks_nobody(
    registry: FaultyRegistry, tmp_path: Path
) -> None:
    assert verify(registry, tmp_path, KEYS["p256"], required=False) == {"done": {"status": "not_required"}}
    assert verify(registry, tmp_path, signature_policy=None) == {"done": {"status": "not_checked"}}
    assert registry.seen == []


@pytest.mark.parametrize(
    "manifest",
    [
        b"",
        b"[" * 50_000,
        b"\xff\xfe",
        b"null",
        b'{"layers": {"mediaType": 1}}',
        json.dumps({"layers": [None, {"mediaType": PAYLOAD_TYPE, "digest": "sha256:x", "annotations": 3}]}).encode(),
        b'{"layers": ["' + b"x" * (5 << 20) + b'"]}',
    ],
    ids=["empty", "deep", "bytes", "null", "shapes", "digests", "huge"],
)
def test_a_manifest_that_cannot_be_read_is_no_signature(
    registry: FaultyRegistry, tmp_path: Path, manifest: bytes
) -> None:
    registry.content[TAG] = (MANIFEST_TYPE, manifest)
    assert verify(registry, tmp_path, KEYS["p256"])["failed"] in ("signature_missing", "image_pull_failed")


def test_a_payload_that_is_not_the_one_of_its_digest_is_no_signature(registry: FaultyRegistry, tmp_path: Path) -> None:
    hold(registry, layer(KEYS["p256"]), served=layer(KEYS["p256"], OTHER)[0])
    assert verify(registry, tmp_path, KEYS["p256"])["failed"] == "signature_missing"


def test_a_signature_that_names_the_image_as_its_subject_counts(registry: FaultyRegistry, tmp_path: Path) -> None:
    signed = json.loads(hold(registry, layer(KEYS["p256"])))
    del registry.content[TAG]
    for subject, outcome in ((OTHER, "failed"), (IMAGE, "done")):
        manifest = json.dumps({**signed, "subject": {"digest": subject}}).encode()
        listed = {"digest": digest_of(manifest), "artifactType": SIGNATURE_TYPE}
        registry.content[REFERRERS] = (MANIFEST_TYPE, json.dumps({"manifests": [listed]}).encode())
        registry.content[f"/v2/{REPOSITORY}/manifests/{digest_of(manifest)}"] = (MANIFEST_TYPE, manifest)
        assert outcome in verify(registry, tmp_path, KEYS["p256"])


def test_a_registry_with_tls_is_asked_only_if_the_request_names_its_authority(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    with faulty_registry(tls=authority.server_files("127.0.0.1")) as registry:
        registry.challenge = 'Basic realm="outside"'
        hold(registry, layer(KEYS["p256"]))
        kept = tmp_path / "kept"
        for trust in ([], [Authority(tmp_path / "other", "another authority").pem]):
            assert verify(registry, kept, KEYS["p256"], tls=True, trust=trust)["failed"] == "image_pull_failed"
        assert registry.seen == []
        found = verify(registry, kept, KEYS["p256"], tls=True, trust=[authority.pem])
    assert found == {"done": {"status": "verified", "key": fingerprint(KEYS["p256"])}}


def test_a_kept_signature_counts_while_the_registry_is_away_until_its_key_is_revoked(
    registry: FaultyRegistry, tmp_path: Path
) -> None:
    hold(registry, layer(KEYS["p256"]))
    first = verify(registry, tmp_path, KEYS["p256"])
    registry.replies[TAG] = answer(503)
    assert verify(registry, tmp_path, KEYS["p256"]) == first
    assert verify(registry, tmp_path, KEYS["rsa"])["failed"] == "image_pull_failed"
    del registry.replies[TAG]
    assert verify(registry, tmp_path, KEYS["rsa"])["failed"] == "signature_invalid"
    (tmp_path / "signature.json").write_text("{")
    assert verify(registry, tmp_path, KEYS["p256"]) == first


def test_a_registry_that_refuses_redirects_for_ever_or_is_away_gives_the_reason(
    registry: FaultyRegistry, tmp_path: Path
) -> None:
    registry.replies[TAG] = answer(403)
    assert verify(registry, tmp_path, KEYS["p256"])["failed"] == "image_denied"
    registry.replies[TAG] = redirect(f"http://{registry.address}{TAG}")
    assert verify(registry, tmp_path, KEYS["p256"])["failed"] == "image_pull_failed"
    registry.replies[TAG] = redirect("file:///etc/passwd")
    assert verify(registry, tmp_path, KEYS["p256"])["failed"] == "image_pull_failed"
    del registry.replies[TAG]
    away = {"registry": "127.0.0.1:9", "reference": f"127.0.0.1:9/{REPOSITORY}@{IMAGE}"}
    found = verify(registry, tmp_path, KEYS["p256"], **away)
    assert found["failed"] == "image_pull_failed"
    assert PASSWORD not in str(found)


def test_a_token_is_fetched_where_the_registry_says_and_a_store_gets_no_secret(
    registry: FaultyRegistry, tmp_path: Path
) -> None:
    payload, signature = layer(KEYS["p256"])
    hold(registry, (payload, signature))
    registry.challenge = f'Bearer realm="http://{registry.address}/token",service="outside",scope="x"'
    registry.replies["/token"] = answer(200, b'{"token": "for-a-minute"}')
    blob, asked = f"/v2/{REPOSITORY}/blobs/{digest_of(payload)}", list[str | None]()

    def store(request: BaseHTTPRequestHandler) -> None:
        asked.append(request.headers.get("Authorization"))
        answer(200, payload)(request)

    registry.replies["/store"] = store
    registry.replies[blob] = redirect(f"http://{registry.address}/store")
    assert "done" in verify(registry, tmp_path, KEYS["p256"])
    assert registry.credentials_seen("/token") == [basic()]
    assert registry.credentials_seen(blob) == ["Bearer for-a-minute"]
    assert asked == [None]
