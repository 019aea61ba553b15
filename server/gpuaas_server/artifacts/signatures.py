"""cosign's key signatures, checked: simple-signing payloads beside an image, and signatures of a blob. Pure.

An image's signatures are the layers of the manifest tagged `sha256-<hex>.sig` in its own repository, and of manifests that
name the image as their subject (OCI referrers): each layer is a payload that names the image's digest, with the signature
as an annotation.
"""

import base64
import binascii
import json
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.digests import digest_bytes, digest_of, is_digest
from gpuaas_server.kernel.errors import Problem

PAYLOAD_TYPE = "application/vnd.dev.cosign.simplesigning.v1+json"
SIGNATURE_TYPE = "application/vnd.dev.cosign.artifact.sig.v1+json"
ANNOTATION = "dev.cosignproject.cosign/signature"
KIND = "cosign container image signature"
MIN_RSA_BITS = 2048

PublicKey = ec.EllipticCurvePublicKey | rsa.RSAPublicKey | Ed25519PublicKey
_CURVES = ("secp256r1", "secp384r1", "secp521r1")


@dataclass(frozen=True, slots=True)
class TrustedKey:
    fingerprint: str
    algorithm: str
    key: PublicKey

    @property
    def pem(self) -> str:
        pem = self.key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        return pem.decode()


@dataclass(frozen=True, slots=True)
class Signed:
    """One signature as it was found: what was signed, and the signature over exactly these bytes."""

    payload: bytes
    signature: bytes


def read_key(pem: str) -> TrustedKey:
    """Read a public key as cosign writes it (`cosign.pub`): PEM of ECDSA P-256 (or larger), RSA, or Ed25519."""
    try:
        key = serialization.load_pem_public_key(pem.encode())
    except (ValueError, TypeError, binascii.Error) as error:
        raise Problem("trust_key_refused", "The text is not a public key in PEM.") from error
    if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.name in _CURVES:
        algorithm = f"ecdsa-{key.curve.name}"
    elif isinstance(key, rsa.RSAPublicKey) and key.key_size >= MIN_RSA_BITS:
        algorithm = f"rsa-{key.key_size}"
    elif isinstance(key, Ed25519PublicKey):
        algorithm = "ed25519"
    else:
        raise Problem("trust_key_refused", "The key must be ECDSA (NIST curves), RSA of 2048 bits or more, or Ed25519.")
    der = key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return TrustedKey(digest_of(der), algorithm, key)


def signs_payload(trusted: TrustedKey, signed: Signed) -> bool:
    try:
        if isinstance(trusted.key, Ed25519PublicKey):
            trusted.key.verify(signed.signature, signed.payload)
        elif isinstance(trusted.key, rsa.RSAPublicKey):
            trusted.key.verify(signed.signature, signed.payload, padding.PKCS1v15(), hashes.SHA256())
        else:
            # cosign hashes with SHA-256 whatever the curve.
            trusted.key.verify(signed.signature, signed.payload, ec.ECDSA(hashes.SHA256()))
    except InvalidSignature:
        return False
    return True


def signs_blob(trusted: TrustedKey, digest: str, signature: bytes) -> bool:
    """Check the signature by the blob's digest alone. Ed25519 signs the bytes themselves, so it cannot be checked so."""
    mark = digest_bytes(digest)
    try:
        if isinstance(trusted.key, rsa.RSAPublicKey):
            trusted.key.verify(signature, mark, padding.PKCS1v15(), Prehashed(hashes.SHA256()))
        elif isinstance(trusted.key, ec.EllipticCurvePublicKey):
            trusted.key.verify(signature, mark, ec.ECDSA(Prehashed(hashes.SHA256())))
        else:
            return False
    except InvalidSignature:
        return False
    return True


def names_digest(payload: bytes, digest: str) -> bool:
    """Tell whether the payload is cosign's and names this image. A good signature of another image proves nothing."""
    try:
        critical = json.loads(payload)["critical"]
        return bool(critical["type"] == KIND and critical["image"]["docker-manifest-digest"] == digest)
    except (ValueError, KeyError, TypeError):
        return False


def signers(keys: list[TrustedKey], digest: str, found: list[Signed]) -> frozenset[str]:
    """Return the fingerprints of the keys that signed this image."""
    about = [signed for signed in found if names_digest(signed.payload, digest)]
    return frozenset(key.fingerprint for key in keys if any(signs_payload(key, signed) for signed in about))


def blob_signers(keys: list[TrustedKey], digest: str, found: list[bytes]) -> frozenset[str]:
    return frozenset(key.fingerprint for key in keys if any(signs_blob(key, digest, one) for one in found))


def signature_tag(digest: str) -> str:
    return f"{digest.replace(':', '-')}.sig"


def referrers_tag(digest: str) -> str:
    """Return the tag of the index of an image's referrers, where a registry has no API for them."""
    return digest.replace(":", "-")


def signature_referrers(index: Mapping[str, Any]) -> list[str]:
    """Return the digests of the manifests with signatures that an index of referrers lists."""
    listed = index.get("manifests")
    named = [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    return [
        one["digest"] for one in named if one.get("artifactType") == SIGNATURE_TYPE and is_digest(one.get("digest"))
    ]


def subject_of(manifest: Mapping[str, Any]) -> object:
    subject = manifest.get("subject")
    return subject.get("digest") if isinstance(subject, dict) else None


def payload_layers(manifest: Mapping[str, Any]) -> list[dict[str, Any]]:
    listed = manifest.get("layers")
    return [one for one in listed if _is_payload(one)] if isinstance(listed, list) else []


def _is_payload(layer: object) -> bool:
    if not isinstance(layer, dict) or layer.get("mediaType") != PAYLOAD_TYPE:
        return False
    annotations = layer.get("annotations")
    return isinstance(annotations, dict) and isinstance(annotations.get(ANNOTATION), str)


def decode_signature(text: str) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        return None


def sha256(content: bytes) -> str:
    return digest_of(content)
