"""Makes what hosts report storable and harmless: a host may send any JSON, the database takes only some of it, and what it
keeps is shown on terminals and pages. Pure.
"""

import math
from typing import Annotated

from pydantic import AfterValidator, StringConstraints

from gpuaas_server.kernel.printable import printable_text

DEEPEST = 24
_TOO_LARGE = 2**63


def storable(value: object, depth: int = 0) -> object:
    if depth > DEEPEST:
        raise ValueError(f"nested deeper than {DEEPEST}")
    if isinstance(value, str):
        return printable_text(value)
    if isinstance(value, dict):
        return {printable_text(str(key)): storable(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [storable(item, depth + 1) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError("a number is not finite")
    if isinstance(value, int) and not -_TOO_LARGE <= value < _TOO_LARGE:
        return str(value)  # a number that JSON writers here cannot write; its digits are kept
    return value


def _storable_object(value: dict[str, object]) -> dict[str, object]:
    return {printable_text(key): storable(item, 1) for key, item in value.items()}


# An object of the host's own making, for evidence and results.
ReportedObject = Annotated[dict[str, object], AfterValidator(_storable_object)]
# Free text of a host: kept, cut to what a person reads.
ReportedText = Annotated[str, AfterValidator(lambda text: printable_text(text)[:4000])]
# A word that a host uses as a name or code: printable ASCII.
ReportedWord = Annotated[str, StringConstraints(min_length=1, max_length=100, pattern=r"^[ -~]+$")]
