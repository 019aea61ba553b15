"""The failures with which a task may end.

Every failure has a stable code, a sentence, and a next step for a person.
"""

from __future__ import annotations


class TaskFailure(Exception):
    """A task cannot continue. The exception becomes the `failure` of the reported result."""

    def __init__(self, code: str, message: str, next_step: str = "", *, retryable: bool = False) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.next_step = next_step or "Read the agent's log for this correlation id."
        self.retryable = retryable


class SpecInvalid(TaskFailure):
    """The task contains a value that the agent refuses to use on the host."""

    def __init__(self, message: str) -> None:
        super().__init__("spec_invalid", message, "Correct the request that made this task.")


class DeadlineExceeded(TaskFailure):
    """The task's deadline passed; its steps are safe to repeat."""

    def __init__(self, doing: str) -> None:
        super().__init__(
            "deadline_exceeded",
            f"The deadline passed during: {doing}",
            "Retry with a later deadline; the phases show which step was slow.",
            retryable=True,
        )


class Superseded(TaskFailure):
    """A task with a higher generation arrived for the same resource."""

    def __init__(self) -> None:
        super().__init__(
            "superseded",
            "A newer task for the same resource arrived while this one ran",
            "Nothing to do; the newer task applies.",
        )
