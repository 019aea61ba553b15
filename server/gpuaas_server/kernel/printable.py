"""Text that hosts sent, made harmless before it is stored: terminals and pages will show it. Pure."""

import re

# Control characters but for tab and newline, line separators, and marks that turn the direction of text: a terminal obeys
# them, and a page shows another order than was written.
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def printable_text(text: str) -> str:
    """Return the text with the replacement character for control and escape sequences, NUL (which PostgreSQL lacks) and lone
    surrogates (which UTF-8 lacks).
    """
    whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return _UNPRINTABLE.sub("\ufffd", whole)
