"""A sealed box opens with the recipient's key and with nothing else."""

import base64

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_sdk import RecipientKey, SealedBox, UnsealError
from gpuaas_sdk.sealed_boxes import FORMAT


def sealed_to(public: str, clear: bytes, info: str = "about") -> SealedBox:
    suite = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
    key = X25519PublicKey.from_public_bytes(base64.b64decode(public))
    return SealedBox(
        format=FORMAT, info=info, box=base64.b64encode(suite.encrypt(clear, key, info=info.encode())).decode()
    )


def test_the_recipient_can_open_a_box() -> None:
    mine = RecipientKey.new()
    assert mine.open(sealed_to(mine.public, b"secret")) == b"secret"


@pytest.mark.parametrize("how", ["another key", "another subject", "changed", "cut", "another format"])
def test_nothing_else_opens_a_box(how: str) -> None:
    mine = RecipientKey.new()
    sealed = sealed_to(mine.public, b"secret")
    box = base64.b64decode(sealed.box)
    changed = box[:-1] + bytes([box[-1] ^ 1])
    broken = {
        "another key": sealed_to(RecipientKey.new().public, b"secret"),
        "another subject": SealedBox(format=FORMAT, info="else", box=sealed.box),
        "changed": SealedBox(format=FORMAT, info="about", box=base64.b64encode(changed).decode()),
        "cut": SealedBox(format=FORMAT, info="about", box=base64.b64encode(box[:20]).decode()),
        "another format": SealedBox(format="v0", info="about", box=sealed.box),
    }
    with pytest.raises(UnsealError):
        mine.open(broken[how])


def test_the_private_key_is_not_in_the_repr() -> None:
    assert "X25519" not in repr(RecipientKey.new())
