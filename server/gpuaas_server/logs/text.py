"""Makes a host's line fit to show: no control characters, no escape sequences, and no secret of a known form. Pure.

Masking knows forms, not values: the platform does not open its sealed secrets to compare them with a tenant's lines.
"""

import re

MASK = "********"
# Escape sequences (colours, cursor moves, titles) are removed as a whole, so that no remains of them stand in the text.
_ESCAPES = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[PX^_][^\x1b]*(?:\x1b\\)?|[ -/]*[0-~])"
)
_UNPRINTABLE = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
# Each expression looks at a character a fixed number of times at most: a host's tenant chooses what the lines say.
_SECRETS = (
    re.compile(r"(-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----).*", re.DOTALL),
    re.compile(
        r"(?i)(\b(?:authorization|proxy-authorization)\b[\"']?\s*[:=]\s*[\"']?(?:bearer|basic|token)\s+)[^\s\"',;]+"
    ),
    re.compile(r"(?i)(\bbearer\s+)[A-Za-z0-9._~+/=-]{12,}"),
    re.compile(r"(\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:)[^\s/@]{1,300}(?=@)"),
    re.compile(r"(\bgpuaas_[a-z]{2,8}_)[A-Za-z0-9_-]{8,}"),
    # It begins at the first "eyJ" of a word: a later one of the same word has the same end, so nothing is tried twice.
    re.compile(
        r"((?<![A-Za-z0-9_-])(?>[A-Za-z0-9_-]*?\b(?=eyJ)))"
        r"[A-Za-z0-9_-]{11,}+\.[A-Za-z0-9_-]{8,}+\.[A-Za-z0-9_-]{8,}+"
    ),
    re.compile(
        r"(?i)((?:password|passwd|secret|api[_-]?key|access[_-]?key|token)[\"']?\s*[:=]\s*[\"']?)"
        r"[^\s\"',;&]{6,}"
    ),
)


def shown_text(text: str) -> str:
    """Return the line as people see it: one line, printable, masked."""
    plain = _UNPRINTABLE.sub("\ufffd", _LINE_ENDS.sub(" \u21b5 ", _ESCAPES.sub("", text)))
    for pattern in _SECRETS:
        plain = pattern.sub(lambda found: found.group(1) + MASK, plain)
    return plain
