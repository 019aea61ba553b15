"""The envelope, without input or output: each version of a secret is sealed under a data key of its own.

`backends.py` wraps the data key and knows where the sealed value is stored.
"""

import os

from cryptography.exceptions import InvalidTag

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.sealer import Sealer


@dataclass(frozen=True, slots=True)
class SecretRef:
    """One version of one secret."""

    secret_id: str
    version: int

    @property
    def value_purpose(self) -> str:
        """Return what the sealed value is bound to: it opens only as this version, so rows cannot be exchanged."""
        return f"secret-value:{self.secret_id}:{self.version}"

    @property
    def key_purpose(self) -> str:
        return f"secret-data-key:{self.secret_id}:{self.version}"


def new_data_key() -> bytes:
    return os.urandom(32)


def seal(data_key: bytes, ref: SecretRef, clear: bytes) -> bytes:
    return Sealer(data_key).seal(clear, ref.value_purpose)


def open_sealed(data_key: bytes, ref: SecretRef, sealed: bytes) -> bytes:
    try:
        return Sealer(data_key).open(sealed, ref.value_purpose)
    except InvalidTag as error:
        raise unreadable(ref) from error


def unreadable(ref: SecretRef) -> Problem:
    return Problem("secret_unreadable", f"Version {ref.version} of {ref.secret_id} cannot be decrypted.")
