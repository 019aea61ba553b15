"""What hosts report, made storable: a host may send any JSON, the database takes only some of it. Pure."""

import math
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

DEEPEST = 24
_TOO_LARGE = 2**63


def storable_text(text: str) -> str:
    """PostgreSQL text has no NUL, and UTF-8 has no lone surrogates: both become the replacement character."""
    return text.replace("\x00", "\ufffd").encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def storable(value: object, depth: int = 0) -> object:
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")
    if isinstance(value, str):
        return storable_text(value)
    if isinstance(value, dict):
        return {storable_text(str(key)): storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    if isinstance(value, int) and not -_TOO_LARGE <= value < _TOO_LARGE:
        return str(value)  # a number that JSON writers here cannot write; its digits are kept
    return value


def _storable_object(value: dict[str, object]) -> dict[str, object]:
    return {storable_text(key): storable(item, 1) for key, item in value.items()}


# An object of the host's own making, for evidence and results.
ReportedObject = Annotated[dict[str, object], AfterValidator(_storable_object)]
# Free text of a host: kept, cut to what a person reads.
ReportedText = Annotated[str, AfterValidator(lambda text: storable_text(text)[:4000])]
# A word that a host uses as a name or code: printable ASCII.
ReportedWord = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[ -~]+$")]
