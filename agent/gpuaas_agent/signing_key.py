"""Declares what the protocol needs from the node's key, wherever its private key is stored."""

from __future__ import annotations

from typing import Protocol

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


class SigningKey(Protocol):
    def sign(self, data: bytes, /) -> bytes: ...

    def public_key(self) -> Ed25519PublicKey: ...
