"""Text that a tenant chose, made fit for somebody's terminal: names of files, titles of processes, what a program said."""

from __future__ import annotations

LONGEST = 300


def printable(text: str, longest: int = LONGEST) -> str:
    """The text on one line, without control characters, escape sequences and lone surrogates, and no longer than that."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:longest])
