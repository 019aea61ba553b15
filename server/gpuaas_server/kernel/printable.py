"""Text of hosts, made harmless before it is stored: it will be shown on terminals and pages. Pure."""

import re

# Control characters but for tab and newline, line separators, and marks that turn the direction of text: a terminal obeys
# them, and a page shows another order than was written.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def printable_text(text: str) -> str:
    """What it may not have becomes the replacement character: control and escape sequences, NUL (PostgreSQL has none) and
    lone surrogates (UTF-8 has none).
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNPRINTABLE.sub("\ufffd", whole)
