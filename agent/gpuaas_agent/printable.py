"""Makes text that a tenant controls safe for a terminal: file names, process titles, program output."""

from __future__ import annotations

LONGEST = 300


def printable(text: str, longest: int = LONGEST) -> str:
    """Return the text on one line, without control characters, escape sequences and lone surrogates, cut to `longest`."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:longest])
