"""Says why an operation failed: a code for programs, a sentence and a next step for people."""

from dataclasses import dataclass

from gpuaas_sdk.errors import GpuaasError
from gpuaas_sdk.host_text import printable_text

MAX_LENGTH = 500
_TRY_AGAIN = "Read the steps, correct what they name, and try again."


class Failed(Exception):
    """Raised by a handler that knows what is wrong. People see the message as it is: put no secret in it."""

    def __init__(self, code: str, message: str, *, next_step: str = _TRY_AGAIN, retryable: bool = False) -> None:
        super().__init__(message)
        self.failure = Failure(code, message, next_step, retryable)


class HostUnreachable(Failed):
    """A host did not answer. The operation may be tried again."""

    def __init__(self, address: str, why: str) -> None:
        message = f"{address} cannot be reached: {why}."
        super().__init__("host_unreachable", message, next_step="Check the node, then try again.", retryable=True)


class CommandFailed(Failed):
    """A command on a host ended with an error. The message names its arguments, never its input."""

    def __init__(self, address: str, argv: list[str], status: int, output: str) -> None:
        self.status = status
        program = " ".join(argv[:6])
        super().__init__(
            "command_failed", f"{program} on {address} ended with {status}: {printable_text(output).strip()[-200:]}"
        )


class Interrupted(BaseException):
    """This replica shuts down and gives its operations back. Not an Exception, so that no handler swallows it."""


class LeaseLost(BaseException):
    """Another replica has the operation, or it has ended: the platform accepts no more reports from this replica."""


@dataclass(frozen=True, slots=True)
class Failure:
    code: str
    message: str
    next_step: str
    retryable: bool

    def document(self) -> dict[str, object]:
        return {
            "code": self.code,
            "message": one_line(self.message),
            "next_step": one_line(self.next_step),
            "retryable": self.retryable,
        }


def failure_of(error: Exception) -> Failure:
    """Describe an error. An unexpected one is named by its type only, since its text may hold a secret; the log has it all."""
    if isinstance(error, Failed):
        return error.failure
    if isinstance(error, GpuaasError):
        return Failure(error.code, error.detail, error.next_step or _TRY_AGAIN, error.retryable)
    if isinstance(error, TimeoutError):
        return Failure("timed_out", "The operation timed out.", "Read the steps, then try again.", True)
    kind = type(error).__name__
    return Failure("controller_error", f"The controller failed with {kind}.", "Read the controller's log.", False)


def one_line(text: str) -> str:
    """Makes the text acceptable to the platform: one line, printable, not too long, never empty."""
    kept = "".join(one if one == "\t" or one.isprintable() else " " for one in text)
    return kept.strip()[:MAX_LENGTH] or "(no message)"
