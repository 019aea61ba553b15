"""Reading SSH public keys that people and hosts send. Pure; what is odd or weak is refused, not repaired."""

import base64
import hashlib

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_ssh_public_key

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

PublicKey = Ed25519PublicKey | EllipticCurvePublicKey | RSAPublicKey

SMALLEST_RSA = 3072
_TYPES = frozenset(("ssh-ed25519", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521", "ssh-rsa"))


@dataclass(frozen=True, slots=True)
class SshPublicKey:
    line: str  # type and key, without the comment
    fingerprint: str  # as ssh-keygen -l prints it
    key: PublicKey


def read_public_key(text: str) -> SshPublicKey:
    words = text.strip().split()
    if len(words) < 2 or words[0] not in _TYPES or "\n" in text.strip():
        raise Problem("ssh_key_refused", "Not a single line of the form 'ssh-ed25519 AAAA… comment'.")
    line = f"{words[0]} {words[1]}"
    try:
        base64.b64decode(words[1], validate=True)
        key = load_ssh_public_key(line.encode())
    except (ValueError, UnsupportedAlgorithm) as error:
        raise Problem("ssh_key_refused", "The key could not be read.") from error
    if isinstance(key, RSAPublicKey) and key.key_size < SMALLEST_RSA:
        raise Problem("ssh_key_refused", f"The RSA key has {key.key_size} bits; {SMALLEST_RSA} are needed.")
    if not isinstance(key, (Ed25519PublicKey, EllipticCurvePublicKey, RSAPublicKey)):
        raise Problem("ssh_key_refused", f"Keys of type {words[0]} are not accepted.")
    return SshPublicKey(line, fingerprint(line), key)


def fingerprint(line: str) -> str:
    """Return the fingerprint as ssh-keygen -l prints it."""
    blob = base64.b64decode(line.split(" ")[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).rstrip(b"=").decode()
