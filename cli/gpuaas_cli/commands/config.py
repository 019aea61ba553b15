"""config: the server address, the default project, the CA certificate, the client certificate."""

from dataclasses import asdict, replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.configuration import Configuration, effective, home
from gpuaas_cli.output import cell, print_json
from gpuaas_cli.session import Session

group = CommandGroup("Settings that the command stores between runs.")


class Setting(StrEnum):
    SERVER = "server"
    PROJECT = "project"
    CA_FILE = "ca_file"
    CERTIFICATE_FILE = "certificate_file"
    CERTIFICATE_KEY_FILE = "certificate_key_file"


@group.verb("show")
def show(session: Session) -> None:
    """Show the effective settings and the source of each."""
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
    setting: Annotated[Setting, typer.Argument(help="The setting.")],
    value: Annotated[str, typer.Argument(help="The value; an empty value removes the setting.")],
) -> None:
    """Set the server, the default project, the CA certificate, or a client certificate and its key."""
    kept: str | None = value or None
    if setting is Setting.SERVER:
        changed = replace(session.configuration, server=value.rstrip("/") or Configuration().server)
    elif setting is Setting.PROJECT:
        changed = replace(session.configuration, project=kept)
    else:
        path = str(Path(value).resolve()) if value else None
        changed = _with_file(session.configuration, setting, path)
    session.say(f"{setting} is set in {changed.save()}.")


def _with_file(known: Configuration, setting: Setting, path: str | None) -> Configuration:
    if setting is Setting.CA_FILE:
        return replace(known, ca_file=path)
    if setting is Setting.CERTIFICATE_FILE:
        return replace(known, certificate_file=path)
    return replace(known, certificate_key_file=path)
