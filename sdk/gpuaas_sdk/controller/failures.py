"""Why an operation did not work, as a controller says it: a code for programs, a sentence and a next step for people."""

from dataclasses import dataclass

from gpuaas_sdk.errors import GpuaasError

LONGEST = 500
_ASK_AGAIN = "Read the steps; correct what they name, and ask for it again."


class Failed(Exception):
    """Raised by a handler that knows what is wrong; it reaches the person who asked as it is. No secret in it."""

    def __init__(self, code: str, message: str, *, next_step: str = _ASK_AGAIN, retryable: bool = False) -> None:
        super().__init__(message)
        self.failure = Failure(code, message, next_step, retryable)


class HostUnreachable(Failed):
    def __init__(self, address: str, why: str) -> None:
        message = f"{address} cannot be reached: {why}."
        super().__init__("host_unreachable", message, next_step="Look at the node, then ask again.", retryable=True)


class CommandFailed(Failed):
    """A program on a host ended with an error. Its arguments are named, what was written to it is not."""

    def __init__(self, address: str, argv: list[str], status: int, said: str) -> None:
        self.status = status
        program = " ".join(argv[:6])
        super().__init__("command_failed", f"{program} on {address} ended with {status}: {said.strip()[-200:]}")


class Interrupted(BaseException):
    """This replica is to end: the work goes back as it is. Not an Exception, so that no handler swallows it."""


class LeaseLost(BaseException):
    """Somebody else has the work, or its time is over: what this replica would still say counts for nothing."""


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    next_step: str
    retryable: bool

    def document(self) -> dict[str, object]:
        return {
            "code": self.code,
            "message": line(self.message),
            "next_step": line(self.next_step),
            "retryable": self.retryable,
        }


def failure_of(error: Exception) -> Failure:
    """An error nobody foresaw is named by its kind only: its text may hold what is not for everybody. The log has it."""
    if isinstance(error, Failed):
        return error.failure
    if isinstance(error, GpuaasError):
        return Failure(error.code, error.detail, error.next_step or _ASK_AGAIN, error.retryable)
    if isinstance(error, TimeoutError):
        return Failure("timed_out", "It took longer than it may.", "Look at the steps, then ask again.", True)
    kind = type(error).__name__
    return Failure("controller_error", f"The controller failed with {kind}.", "Look into the controller's log.", False)


def line(text: str) -> str:
    """One line that the platform takes: no control characters, not too long, never empty."""
    kept = "".join(one if one == "\t" or one.isprintable() else " " for one in text)
    return kept.strip()[:LONGEST] or "(nothing was said)"
