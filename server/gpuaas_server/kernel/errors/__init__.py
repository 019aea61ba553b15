"""One family of errors, free of transport. Every code is in CATALOGUE, which is committed as contract/error-codes.json.

`detail` is the sentence for the caller; what only an operator may know goes to the log, never into a Problem.
"""

from dataclasses import dataclass, field

from gpuaas_server.kernel.errors.apps import APPS
from gpuaas_server.kernel.errors.artifacts import ARTIFACTS
from gpuaas_server.kernel.errors.capacity import CAPACITY
from gpuaas_server.kernel.errors.foundation import FOUNDATION, ErrorKind

__all__ = ["CATALOGUE", "ErrorKind", "Problem", "not_found"]

CATALOGUE: dict[str, ErrorKind] = {kind.code: kind for kind in [*FOUNDATION, *CAPACITY, *APPS, *ARTIFACTS]}


@dataclass(slots=True)
class Problem(Exception):
    """An error with a stable code. Raise it anywhere; the HTTP edge turns it into a problem document."""

    code: str
    detail: str = ""
    details: dict[str, object] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    # The id that was asked for, where the verb knows it better than the path. For the audit trail, not for the answer.
    target: str = ""

    @property
    def kind(self) -> ErrorKind:
        return CATALOGUE[self.code]

    def __str__(self) -> str:
        return f"{self.code}: {self.detail or self.kind.title}"


def not_found(noun: str, identifier: str) -> Problem:
    """Return the same answer for 'absent' and 'not yours': existence across the tenant boundary is not disclosed."""
    return Problem("not_found", f"There is no {noun} {identifier} that you can see.", target=identifier)
