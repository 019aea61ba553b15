"""Makes what a host says of a container fit to be reported to the platform. Pure.

A host belongs to a tenant, who may answer anything: only facts that are known are passed on, each short and printable.
"""

from math import isfinite

LONGEST_FACT = 200
LARGEST_FACT = 2**53
STATE = ("runtime_version", "unit", "state", "restarts", "container")
SIGNATURE = ("status", "key")


def reported_facts(answer: object, keys: tuple[str, ...]) -> dict[str, object]:
    """Return those of these facts that the answer has and that are texts or finite numbers."""
    found = answer if isinstance(answer, dict) else {}
    facts = {key: _fact(found.get(key)) for key in keys}
    return {key: fact for key, fact in facts.items() if fact is not None}


def _fact(value: object) -> str | float | None:
    if isinstance(value, str):
        return "".join(one if one.isprintable() else " " for one in value[:LONGEST_FACT])
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST_FACT:
        return value if isfinite(value) else None
    return None
