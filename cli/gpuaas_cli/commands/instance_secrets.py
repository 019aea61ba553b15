"""instances secrets: list the secrets of an instance, give a value, have one made anew. Values are never printed."""

import base64
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.operation_views import follow_to_end, print_operations
from gpuaas_cli.options import DeadlineOption, ProjectOption, WatchOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.references import instance_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import InstanceSecret, InstanceSecretChanged

group = CommandGroup("Secrets of an instance. The platform keeps them sealed and never shows a value.")

InstanceArgument = Annotated[str, typer.Argument(help="Instance: id or name.")]
NameArgument = Annotated[str, typer.Argument(help="The secret, as the app's manifest names it.")]
FileOption = Annotated[
    Path | None,
    typer.Option("--file", "-f", help="A file with the value. Default: standard input, or a hidden prompt."),
]


def _state(secret: InstanceSecret) -> str:
    if secret.exposed:
        return "somebody who left knows it: set another value"
    if secret.rotation_due:
        return "members get it when the operation in progress has ended"
    return "no value yet" if secret.version is None else ""


SECRETS: list[Column[InstanceSecret]] = [
    Column("NAME", lambda one: one.name, whole=True),
    Column("SOURCE", lambda one: one.source, whole=True),
    Column("VERSION", lambda one: one.version, right=True),
    Column("CHANGED", lambda one: None if one.set_at is None else age(one.set_at), right=True),
    Column("READ", lambda one: None if one.read_at is None else age(one.read_at), right=True),
    Column("STATE", _state),
]


@group.verb("list")
def list_(session: Session, instance: InstanceArgument, project: ProjectOption = None) -> None:
    """List the secrets of an instance: names, versions and times."""
    where = project_id(session, project)
    found = session.client.instances.secrets(where, instance_id(session.client, where, instance))
    print_list(session, found.items, SECRETS)


@group.verb("set")
def set_(
    session: Session,
    instance: InstanceArgument,
    name: NameArgument,
    file: FileOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Set the value of a secret. A reconcile delivers it to the members."""
    where = project_id(session, project)
    found = instance_id(session.client, where, instance)
    value = encoded(_read(name, file))
    changed = session.client.instances.set_secret(where, found, name, value, encoding="base64")
    _follow_or_print(session, where, changed, watch, deadline)


@group.verb("rotate")
def rotate(
    session: Session,
    instance: InstanceArgument,
    name: NameArgument,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")] = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Generate a new value for a secret. A reconcile generates it and delivers it to the members."""
    where = project_id(session, project)
    found = instance_id(session.client, where, instance)
    _follow_or_print(
        session, where, session.client.instances.rotate_secret(where, found, name, reason=reason), watch, deadline
    )


def secrets_of_launch(files: Sequence[str]) -> dict[str, object] | None:
    """Read the values that a launch is given, as NAME=FILE. They are in no argument: other users see a process's arguments."""
    values: dict[str, object] = {}
    for one in files:
        name, equals, place = one.partition("=")
        if not (name and equals and place):
            step = "Write it as NAME=FILE; the file - is standard input."
            raise CommandFailed("usage", f"--secret-file {name} names no file.", step, ExitCode.USAGE)
        content = _read(name, None if place == "-" else Path(place))
        values[name] = {"value": encoded(content), "encoding": "base64"}
    return values or None


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _read(name: str, file: Path | None) -> bytes:
    """Read a value as it is, without the line end that an editor or a shell adds."""
    if file is not None:
        try:
            return _without_line_end(file.read_bytes())
        except OSError as error:
            message = f"{file} cannot be read: {error.strerror}."
            raise CommandFailed("usage", message, "Name a file with the value.", ExitCode.USAGE) from None
    if sys.stdin.isatty():
        return str(typer.prompt(f"Value of {name}", hide_input=True, err=True)).encode()
    return _without_line_end(sys.stdin.buffer.read())


def _without_line_end(content: bytes) -> bytes:
    return content.removesuffix(b"\n").removesuffix(b"\r")


def _follow_or_print(session: Session, where: str, changed: InstanceSecretChanged, watch: bool, deadline: int) -> None:
    operation = changed.operation
    if operation is None:
        print_list(session, [changed.secret], SECRETS)
    elif watch:
        follow_to_end(session, where, operation, deadline)
    else:
        print_operations(session, [operation])
        session.say(f"Follow it: gpuaas operations follow {operation.id}")
