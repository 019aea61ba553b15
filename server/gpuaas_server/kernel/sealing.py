"""AES-GCM sealing of keys at rest under the master key. What is sealed names its purpose, so that it opens nowhere else."""

import os
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM


class Sealer:
    def __init__(self, master_key: bytes) -> None:
        if len(master_key) != 32:
            raise ValueError("the master key must be 32 bytes (64 hex digits)")
        self._aead = AESGCM(master_key)

    def seal(self, clear: bytes, purpose: str) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._aead.encrypt(nonce, clear, purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> bytes:
        return self._aead.decrypt(sealed[:12], sealed[12:], purpose.encode())


def load_or_make_master_key(path: Path) -> bytes:
    """Read the key; on first start make one. The link makes it appear whole or not at all, also with two starters."""
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor, fresh = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)  # mode 0600
        with os.fdopen(descriptor, "w") as file:
            file.write(os.urandom(32).hex())
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(fresh, path)
        except FileExistsError:
            pass  # another process was first; its key is the key
        finally:
            Path(fresh).unlink()
    return bytes.fromhex(path.read_text().strip())
