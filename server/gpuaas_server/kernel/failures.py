"""Describes why something did not work, as resources keep it and show it: for a person and for a program."""

from typing import TypedDict

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import CATALOGUE


class FailureDocument(TypedDict):
    """A failure as a JSON column keeps it."""

    code: str
    message: str
    next_step: str
    retryable: bool


# What to read where a host reported a failed task without a failure.
NOT_REPORTED: FailureDocument = {"code": "", "message": "", "next_step": "", "retryable": False}


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    next_step: str
    retryable: bool

    def document(self) -> FailureDocument:
        return {
            "code": self.code,
            "message": self.message,
            "next_step": self.next_step,
            "retryable": self.retryable,
        }


def failure(code: str, message: str, retryable: bool | None = None) -> Failure:
    """Return a failure with a code of the catalogue, which also says the next step and whether to retry."""
    kind = CATALOGUE[code]
    return Failure(code, message, kind.next_step, kind.retryable if retryable is None else retryable)
