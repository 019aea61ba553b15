"""Digests of bytes. The only format is `sha256:` and 64 hexadecimal digits in lower case.

A digest becomes part of URLs, tags and paths, so the whole text is checked before it is used as one.
"""

import hashlib
import re
from typing import TypeGuard

_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")


def is_digest(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and _DIGEST.fullmatch(value) is not None


def digest_bytes(digest: str) -> bytes:
    """Return the 32 bytes of the digest. Raises ValueError for any other text."""
    if not is_digest(digest):
        raise ValueError("not a sha256 digest")
    return bytes.fromhex(digest.removeprefix("sha256:"))


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"
