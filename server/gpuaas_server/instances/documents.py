"""Free-form JSON that controllers send (details, endpoints, commands): kept as it is, but not at any size or depth.

What PostgreSQL or UTF-8 cannot hold is refused with the request, so that it is a bad request and not an error of ours.
"""

import json
from typing import Annotated

from pydantic import AfterValidator

from gpuaas_server.kernel.errors import Problem

DETAIL_BYTES = 16_384
RUNTIME_BYTES = 65_536
DEEPEST = 32


def _storable(value: dict[str, object]) -> dict[str, object]:
    if _depth(value) > DEEPEST:
        raise _refused(f"is nested deeper than {DEEPEST} levels")
    try:
        written = json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError as error:
        raise _refused("is not JSON in UTF-8") from error
    if b"\\u0000" in written.replace(b"\\\\", b""):  # an escaped backslash before "u0000" is no NUL
        raise _refused("contains a NUL character")
    return value


def _refused(why: str) -> Problem:
    """Return the refusal. No schema could forbid such a document, so the refusal has its own code."""
    return Problem("document_invalid", f"A document in the request {why}.")


def _depth(value: object) -> int:
    """Measure level by level, so that a hostile document cannot exhaust the stack; stop where it is too deep anyway."""
    level, depth = [value], 0
    while level and depth <= DEEPEST:
        depth += 1
        level = [inner for outer in level for inner in _list_values(outer)]
    return depth


def _list_values(value: object) -> list[object]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


Document = Annotated[dict[str, object], AfterValidator(_storable)]


def require_size(name: str, value: dict[str, object] | None, most: int) -> None:
    if value is None:
        return
    size = len(json.dumps(value, ensure_ascii=False).encode())
    if size > most:
        raise Problem(
            "document_too_large", f"{name} has {size} bytes; at most {most} are allowed.", {"most_bytes": most}
        )


def require_unchanged(runtime: dict[str, object] | None, expected: dict[str, object] | None) -> None:
    """Refuse to replace a runtime that is not the one that the controller has read."""
    if expected is not None and expected != (runtime or {}):
        raise Problem("stale_generation", "The runtime has changed since you read it: read the instance again.")
