"""Opens sealed boxes: HPKE base mode (RFC 9180), DHKEM(X25519), HKDF-SHA256, AES-256-GCM.

key = RecipientKey.new()
delivery = client.access_credentials.deliver(project, credential, recipient_key=key.public)
private_key = key.open(delivery.sealed_private_key)
"""

import base64
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_sdk.generated.models import SealedBox

FORMAT = "hpke-x25519-hkdf-sha256-aes256gcm.v1"


class UnsealError(ValueError):
    """The box was sealed to another key or for another purpose, or was changed on the way."""


@dataclass(frozen=True)
class RecipientKey:
    """An X25519 key pair. Make a new one for each delivery, so that no key is left that could open it later."""

    private: X25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls) -> "RecipientKey":
        return cls(X25519PrivateKey.generate())

    @property
    def public(self) -> str:
        """The public key in the form that the API accepts."""
        return base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def open(self, sealed: SealedBox) -> bytes:
        if sealed.format != FORMAT:
            raise UnsealError(f"the box has the unknown format {sealed.format!r}")
        suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
        try:
            return suite.decrypt(base64.b64decode(sealed.box), self.private, info=sealed.info.encode())
        except (InvalidTag, ValueError) as error:
            raise UnsealError("the box does not open with this key") from error
