"""Exit codes, and the format of an error on stderr."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import IntEnum

from rich.console import Console
from rich.text import Text

from gpuaas_cli.field_names import UNTRANSLATED, FieldNames
from gpuaas_sdk import GpuaasError, Problem


class ExitCode(IntEnum):
    """The exit statuses of the command. They are documented in the reference, and scripts depend on them."""

    OK = 0
    FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    DENIED = 4
    CONFLICT = 5
    DEADLINE = 6
    INTERRUPTED = 130


MEANINGS = {
    ExitCode.OK: "done",
    ExitCode.FAILED: "failed",
    ExitCode.USAGE: "wrong usage, or input that the server did not accept",
    ExitCode.NOT_FOUND: "no such thing, or not visible to you",
    ExitCode.DENIED: "not signed in, or not allowed",
    ExitCode.CONFLICT: "the current state, capacity or quota does not allow it",
    ExitCode.DEADLINE: "the deadline passed",
    ExitCode.INTERRUPTED: "interrupted (Ctrl-C)",
}

_BY_CODE = {"sku_not_offered": ExitCode.CONFLICT, "deadline_exceeded": ExitCode.DEADLINE}
_BY_STATUS = {
    400: ExitCode.USAGE,
    401: ExitCode.DENIED,
    403: ExitCode.DENIED,
    404: ExitCode.NOT_FOUND,
    409: ExitCode.CONFLICT,
    412: ExitCode.CONFLICT,
    422: ExitCode.USAGE,
    423: ExitCode.DENIED,
}


# A problem document has members; on a terminal they are the lines below the message.
_IN_DETAILS = re.compile(r" in details\.\w+")
_DETAILS = re.compile(r"\bdetails\.(\w+)")


@dataclass
class CommandFailed(Exception):
    """A failure that the command itself detected, in the same form as the platform's."""

    code: str
    message: str
    next_step: str = ""
    exit_code: ExitCode = ExitCode.FAILED

    def as_error(self) -> GpuaasError:
        return GpuaasError(Problem(code=self.code, status=0, detail=self.message, next_step=self.next_step))


def exit_code_of(error: GpuaasError) -> ExitCode:
    return _BY_CODE.get(error.code) or _BY_STATUS.get(error.status, ExitCode.FAILED)


def print_error(console: Console, error: GpuaasError, as_json: bool, names: FieldNames = UNTRANSLATED) -> None:
    """Print an error: for people with the command's option names, for programs as the server sent it."""
    if as_json:
        document = {
            "code": error.code,
            "detail": error.detail,
            "next_step": error.next_step,
            "retryable": error.retryable,
            "correlation_id": error.correlation_id,
            "details": dict(error.details),
        }
        console.print(json.dumps(document, indent=2), markup=False, highlight=False, soft_wrap=True)
        return
    console.print(Text.assemble(("Error: ", "bold red"), names.translate(error.detail)), soft_wrap=True)
    next_step = _IN_DETAILS.sub(" named here", next_step_of(error))
    next_step = _DETAILS.sub(r"the \1", next_step)
    if next_step:
        console.print(Text.assemble(("Next:  ", "bold"), next_step), soft_wrap=True)
    for line in detail_lines(error.details, error.detail):
        console.print(Text(f"       {names.translate(line)}"), soft_wrap=True)
    reference = f", correlation id {error.correlation_id}" if error.correlation_id else ""
    console.print(Text(f"       {error.code}{reference}", style="dim"), soft_wrap=True)


def detail_lines(details: Mapping[str, object], message: str = "") -> Iterator[str]:
    """Yield what the error names: invalid fields, sufficient roles, conflicting ids; nothing that `message` already says."""
    for name, value in details.items():
        if name == "count" and any(isinstance(one, list) and len(one) == value for one in details.values()):
            continue  # the list shows all of them
        if isinstance(value, list) and all(isinstance(one, dict) for one in value):
            lines = (", ".join(_parts(one, message)) for one in value)
            yield from (line for line in lines if line)
        elif isinstance(value, list):
            yield f"{name}: {', '.join(str(one) for one in value)}"
        else:
            yield f"{name}: {value}"


def _parts(document: Mapping[str, object], message: str) -> Iterator[str]:
    for part in document.values():
        if part is not None and not (isinstance(part, str) and part in message):
            yield str(part)


def next_step_of(error: GpuaasError) -> str:
    """Return the server's next step, or the command that does the same."""
    if error.code in ("unauthenticated", "token_expired", "token_invalid", "session_ended"):
        return "Sign in with `gpuaas login`."
    if error.code == "untrusted_certificate":
        return "Give the platform's CA certificate: `gpuaas config set ca_file PATH`."
    if error.code == "unreachable":
        return "Check the address (`gpuaas config show`) and that the server is running (`gpuaas up`)."
    return error.next_step
