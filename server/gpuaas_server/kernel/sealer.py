"""AES-GCM encryption of keys at rest under the master key. Each sealed text names its purpose and opens for no other.

A mark is what is kept of a text that only has to be known again.
"""

import hmac
import logging
import os
import tempfile
from pathlib import Path

from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from gpuaas_server.kernel.start import StartFailed

log = logging.getLogger(__name__)


class Sealer:
    def __init__(self, master_key: bytes) -> None:
        if len(master_key) != 32:
            raise ValueError("the master key must be 32 bytes (64 hex digits)")
        self._aead = AESGCM(master_key)
        self._mark_key = HKDF(SHA256(), 32, salt=None, info=b"gpuaas mark").derive(master_key)

    def seal(self, clear: bytes, purpose: str) -> bytes:
        nonce = os.urandom(12)
        return nonce + self._aead.encrypt(nonce, clear, purpose.encode())

    def open(self, sealed: bytes, purpose: str) -> bytes:
        return self._aead.decrypt(sealed[:12], sealed[12:], purpose.encode())

    def mark(self, clear: bytes, purpose: str) -> bytes:
        """Return a keyed hash; equal texts have equal marks. Without the master key, no text can be guessed from its mark."""
        return hmac.digest(self._mark_key, purpose.encode() + b"\0" + clear, "sha256")


def load_or_make_master_key(path: Path) -> bytes:
    """Read the key, or make one at the first start. The link makes it appear whole or not at all, also with two processes."""
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
    _keep_to_owner(path)
    return bytes.fromhex(path.read_text().strip())


def _keep_to_owner(path: Path) -> None:
    """Take read access from everybody but the owner, and log it: others may have read the file before."""
    mode = path.stat().st_mode & 0o777
    if not mode & 0o077:
        return
    try:
        path.chmod(mode & 0o700)
    except OSError as error:
        raise StartFailed(
            f"the master key {path} can be read by others (mode {mode:o}) and its mode cannot be changed;"
            " make it readable by its owner alone: chmod 600"
        ) from error
    log.warning(
        "the master key could be read by others, and its mode is corrected; whoever could log in here may know it",
        extra={"path": str(path), "mode": f"{mode:o}", "now": f"{mode & 0o700:o}"},
    )
