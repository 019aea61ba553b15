"""Opening what was sealed to you: HPKE base mode (RFC 9180), DHKEM(X25519), HKDF-SHA256, AES-256-GCM.

mine = RecipientKey.new()
delivery = client.access_credentials.deliver(project, credential, recipient_key=mine.public)
private_key = mine.open(delivery.sealed_private_key)
"""

import base64
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_sdk.generated.models import SealedBox

FORMAT = "hpke-x25519-hkdf-sha256-aes256gcm.v1"


class NotForUs(ValueError):
    """The box was sealed to another key, was changed on the way, or is about something else than it says."""


@dataclass(frozen=True)
class RecipientKey:
    """An X25519 key pair. Make one for each delivery: then nothing is left that could open it later."""

    private: X25519PrivateKey = field(repr=False)

    @classmethod
    def new(cls) -> "RecipientKey":
        return cls(X25519PrivateKey.generate())

    @property
    def public(self) -> str:
        """As the API takes it."""
        return base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def open(self, sealed: SealedBox) -> bytes:
        if sealed.format != FORMAT:
            raise NotForUs(f"a box of the unknown format {sealed.format!r}")
        suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
        try:
            return suite.decrypt(base64.b64decode(sealed.box), self.private, info=sealed.info.encode())
        except (InvalidTag, ValueError) as error:
            raise NotForUs("the box does not open with this key") from error
