"""config: the server address, the default project, the CA certificate."""

from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.configuration import Configuration, effective, home
from gpuaas_cli.rendering import cell, print_json
from gpuaas_cli.session import Session

group = CommandGroup("What the command remembers between runs.")


class Setting(StrEnum):
    SERVER = "server"
    PROJECT = "project"
    CA_FILE = "ca_file"


@group.verb("show")
def show(session: Session) -> None:
    """Show the settings in force and where each comes from."""
    stored = asdict(session.configuration)
    rows = [(name, *effective(name, stored[name])) for name in Setting]
    if session.as_json:
        print_json(session, {name: value for name, value, _ in rows})
        return
    table = Table("Setting", "Value", "From", box=None, pad_edge=False, header_style="bold")
    for name, value, source in rows:
        table.add_row(str(name), cell(value), source)
    session.out.print(table)
    session.say(f"Files are in {home()}.")


@group.verb("set")
def set_(
    session: Session,
    setting: Annotated[Setting, typer.Argument(help="What to set.")],
    value: Annotated[str, typer.Argument(help="The value; empty takes it away.")],
) -> None:
    """Set the server, the default project or the CA certificate."""
    kept: str | None = value or None
    if setting is Setting.SERVER:
        changed = replace(session.configuration, server=value.rstrip("/") or Configuration().server)
    elif setting is Setting.PROJECT:
        changed = replace(session.configuration, project=kept)
    else:
        changed = replace(session.configuration, ca_file=str(Path(value).resolve()) if value else None)
    path = changed.save()
    session.say(f"{setting} is set in {path}.")
