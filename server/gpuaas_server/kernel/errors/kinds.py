"""What a code of the catalogue says about itself."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ErrorKind:
    code: str
    status: int
    title: str
    next_step: str
    retryable: bool = False
