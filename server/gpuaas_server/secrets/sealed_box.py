"""Boxes that one recipient can open: HPKE base mode (RFC 9180), DHKEM(X25519), HKDF-SHA256, AES-256-GCM.

A box is the encapsulated key and the ciphertext, one after the other, as base64. `info` says what the box is about, and
is part of the key: a box that is passed off as another one does not open. See docs/reference/sealed-delivery.md.
"""

import base64
from typing import Literal

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_server.kernel.errors import Problem

BOX_FORMAT: Literal["hpke-x25519-hkdf-sha256-aes256gcm.v1"] = "hpke-x25519-hkdf-sha256-aes256gcm.v1"
_SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


def seal_to(recipient_key: str, clear: bytes, info: str) -> str:
    """Seal for one recipient. `recipient_key` is the raw X25519 public key as base64."""
    try:
        public = X25519PublicKey.from_public_bytes(base64.b64decode(recipient_key, validate=True))
        return base64.b64encode(_SUITE.encrypt(clear, public, info=info.encode())).decode()
    except (ValueError, UnsupportedAlgorithm) as error:  # not 32 bytes, or a point of small order
        raise Problem("invalid_request", "recipient_key: not an X25519 public key that can be sealed to.") from error
