"""Reads what a registry answers to a request without credentials: `WWW-Authenticate`. Pure."""

import re
from collections.abc import Iterable

from gpuaas_server.kernel.dataclass import dataclass

MAX_HEADER = 4096
# A scheme, or a parameter with its value; the value of a scheme is none.
_PIECE = re.compile(r'\s*,?\s*(?:([A-Za-z0-9_-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))|([A-Za-z0-9_-]+)(?=\s|,|$))')


@dataclass(frozen=True, slots=True)
class Challenge:
    scheme: str
    realm: str = ""
    service: str = ""


def parse_challenges(headers: Iterable[str]) -> list[Challenge]:
    """Read the challenges. What follows something unreadable in a header is left out."""
    return [challenge for header in headers for challenge in _parse(header[:MAX_HEADER])]


def _parse(header: str) -> list[Challenge]:
    found: list[tuple[str, dict[str, str]]] = []
    place = 0
    while place < len(header) and (piece := _PIECE.match(header, place)) is not None:
        place = piece.end()
        name, quoted, plain, scheme = piece.groups()
        if scheme is not None:
            found.append((scheme.lower(), {}))
        elif found:
            value = plain if quoted is None else re.sub(r"\\(.)", r"\1", quoted)
            found[-1][1].setdefault(name.lower(), value)
    return [Challenge(scheme, given.get("realm", ""), given.get("service", "")) for scheme, given in found]
