"""Digests of bytes, in their one grammar: `sha256:` and 64 hexadecimal digits in lower case. Pure.

A digest becomes a part of URLs, tags and paths, so text from outside is a digest only after a look at all of it.
"""

import hashlib
import re
from typing import TypeGuard

PATTERN = "^sha256:[0-9a-f]{64}$"  # for schemas, whose `$` is the very end
_WHOLE = re.compile(r"sha256:[0-9a-f]{64}")


def is_digest(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _WHOLE.fullmatch(value) is not None


def digest_bytes(digest: str) -> bytes:
    """Return the 32 bytes of the digest; ValueError for other text."""
    if not is_digest(digest):
        raise ValueError("not a sha256 digest")
    return bytes.fromhex(digest.removeprefix("sha256:"))


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
