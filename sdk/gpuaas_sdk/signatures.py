"""Makes signatures in cosign's format with your own key, for an image in a repository or for a blob."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from gpuaas_sdk import digests
from gpuaas_sdk.registry import IMAGE_MANIFEST, Repository

PAYLOAD_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"
CONFIG_TYPE = "application/vnd.oci.image.config.v1+json"
ANNOTATION = "dev.cosignproject.cosign/signature"
KIND = "cosign container image signature"


def read_private_key(path: Path, password: str | None = None) -> ec.EllipticCurvePrivateKey:
    """Reads an ECDSA key in PEM (PKCS#8). Keys in cosign's own encrypted format are not supported."""
    key = serialization.load_pem_private_key(path.read_bytes(), password.encode() if password else None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("the key is not an ECDSA key")
    return key


def public_pem(key: ec.EllipticCurvePrivateKey) -> str:
    public = key.public_key()
    return public.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo).decode()


def digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return f"sha256:{hashlib.file_digest(file, 'sha256').hexdigest()}"


def sign_blob(key: ec.EllipticCurvePrivateKey, digest: str) -> str:
    """Signs the bytes with this digest. The result has the form that `cosign sign-blob` prints."""
    content_digest = digests.digest_bytes(digest)
    return base64.b64encode(key.sign(content_digest, ec.ECDSA(Prehashed(hashes.SHA256())))).decode()


def sign_image(repository: Repository, digest: str, key: ec.EllipticCurvePrivateKey) -> str:
    """Adds a signature to those of the image. Returns the digest of the signature manifest."""
    payload = payload_of(f"{repository.registry}/{repository.name}", digest)
    signature = base64.b64encode(key.sign(payload, ec.ECDSA(hashes.SHA256()))).decode()
    tag = f"{digest.replace(':', '-')}.sig"
    before = repository.manifest(tag)
    layers = [*_layers(before), _layer(payload, signature)]
    repository.push_blob(payload)
    manifest, config = signature_manifest(layers)
    repository.push_blob(config)
    return repository.push_manifest(tag, manifest)


def payload_of(reference: str, digest: str) -> bytes:
    """Return the payload that is signed for an image. `reference` is the image's name without tag and digest."""
    identity = {"docker-reference": reference}
    critical = {"identity": identity, "image": {"docker-manifest-digest": digest}, "type": KIND}
    return _compact({"critical": critical, "optional": None})


def signature_manifest(layers: list[dict[str, Any]]) -> tuple[bytes, bytes]:
    """Returns the manifest and the config that hold these signatures."""
    epoch = "0001-01-01T00:00:00Z"
    config = _compact(
        {
            "architecture": "",
            "created": epoch,
            "history": [{"created": epoch} for _ in layers],
            "os": "",
            "rootfs": {"type": "layers", "diff_ids": [layer["digest"] for layer in layers]},
            "config": {},
        }
    )
    described = {"mediaType": CONFIG_TYPE, "size": len(config), "digest": _sha256(config)}
    manifest = {"schemaVersion": 2, "mediaType": IMAGE_MANIFEST, "config": described, "layers": layers}
    return _compact(manifest), config


def _layers(manifest: bytes | None) -> list[dict[str, Any]]:
    return [] if manifest is None else list(json.loads(manifest).get("layers") or [])


def _layer(payload: bytes, signature: str) -> dict[str, Any]:
    described = {"mediaType": PAYLOAD_TYPE, "size": len(payload), "digest": _sha256(payload)}
    return {**described, "annotations": {ANNOTATION: signature}}


def _sha256(content: bytes) -> str:
    return digests.digest_of(content)


def _compact(document: object) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()
