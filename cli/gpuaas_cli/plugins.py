"""Adds the commands of other packages: entry points of the group `gpuaas.commands` (gpuaas_sdk/commands.py)."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from importlib.metadata import entry_points

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.references import project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Client
from gpuaas_sdk.commands import ENTRY_POINTS, CommandSet


def add_plugins(app: CommandGroup) -> None:
    """Add a group for each installed package. One that cannot be loaded is named, and the other commands work."""
    taken = {one.name for one in app.registered_groups} | {one.name for one in app.registered_commands}
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: one.name):
        if entry.name in taken:
            _warn(f"The commands {entry.name} of {entry.value} are left out: gpuaas has a command of that name.")
            continue
        try:
            found = entry.load()
        except Exception as error:  # a package of somebody else
            _warn(f"The commands {entry.name} of {entry.value} cannot be loaded: {type(error).__name__}.")
            continue
        if isinstance(found, CommandSet):
            app.add_typer(_group_of(found), name=entry.name)


def _group_of(found: CommandSet) -> CommandGroup:
    group = CommandGroup(found.summary)
    for name, function in found.commands.items():
        group.verb(name)(_adapted(function))
    return group


@dataclass(frozen=True, slots=True)
class PluginSession:
    """Gives a function of another package the session: a `CommandSession`."""

    session: Session

    @property
    def client(self) -> Client:
        return self.session.client

    @property
    def ca_file(self) -> str | None:
        return self.session.ca_file

    @property
    def as_json(self) -> bool:
        return self.session.as_json

    def find_project(self, named: str | None) -> str:
        return project_id(self.session, named)

    def say(self, sentence: str) -> None:
        self.session.say(sentence)


def _adapted(function: Callable[..., None]) -> Callable[..., None]:
    @wraps(function)
    def run(session: Session, **arguments: object) -> None:
        function(PluginSession(session), **arguments)

    return run


def _warn(sentence: str) -> None:
    print(sentence, file=sys.stderr)
