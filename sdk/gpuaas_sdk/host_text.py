"""Checks text from hosts before it reaches a terminal, a log or the command line of `ssh`.

The platform checks it on arrival; this covers answers of older platforms and text that was stored before.
"""

import ipaddress
import re
from typing import Protocol

_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]"
)
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?)*")
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,31}")


class UnsafeTarget(ValueError):
    """An SSH address, port or user that must not reach a command line."""


class Target(Protocol):
    @property
    def address(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def user(self) -> str: ...


def printable_text(text: str) -> str:
    """Replaces control characters (except tab and newline) and marks that change the direction of text."""
    return _UNPRINTABLE.sub("\ufffd", text)


def check_target(target: Target) -> None:
    """Raises UnsafeTarget for text that `ssh` could read as an option, or as more than one word or line."""
    if not _is_address(target.address):
        raise UnsafeTarget(f"{target.address[:80]!r} is not an IP address or a host name")
    if not _USER.fullmatch(target.user):
        raise UnsafeTarget(f"{target.user[:80]!r} is not a valid user name")
    if not 1 <= target.port <= 65535:
        raise UnsafeTarget(f"{target.port} is not a valid port")


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return len(text) <= 253 and _NAME.fullmatch(text) is not None
    return "%" not in text
