"""Commands that other packages add to `gpuaas`.

A package names a `CommandSet` as an entry point of the group `gpuaas.commands`; the entry point's name becomes the name of
a command group. Each function gets a `CommandSession`, and Typer reads its other parameters.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from gpuaas_sdk.sync.client import Client

ENTRY_POINTS = "gpuaas.commands"


class CommandSession(Protocol):
    """One run of the command: who is signed in, and where to print."""

    @property
    def client(self) -> Client:
        """The client of whoever is signed in."""
        ...

    @property
    def ca_file(self) -> str | None:
        """The CA of the platform's certificate, if one is configured."""
        ...

    @property
    def as_json(self) -> bool:
        """Tell whether the output is for a program."""
        ...

    def find_project(self, named: str | None) -> str:
        """Return the id of the project that was named, or of the default one."""
        ...

    def say(self, message: str) -> None:
        """Print a line for people; with JSON output it goes to stderr."""
        ...


@dataclass(frozen=True, slots=True)
class CommandSet:
    """A group of commands: what they are about, and a function for each."""

    summary: str
    commands: Mapping[str, Callable[..., None]]


class CommandError(Exception):
    """A failure that a command detected: a stable code, a message, and what to do next. `usage`: the input is wrong."""

    def __init__(self, code: str, message: str, next_step: str = "", *, usage: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.next_step = next_step
        self.usage = usage
