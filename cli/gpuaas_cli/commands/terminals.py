"""terminals: open a shell in an allocation through the platform, without a network route to its host; list sessions."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ProjectOption
from gpuaas_cli.output import Column, print_list
from gpuaas_cli.references import allocation_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Terminal

group = CommandGroup("Terminals: shells in allocations, through the platform.")

AllocationArgument = Annotated[str, typer.Argument(help="Allocation: id or name.")]
COLUMNS: list[Column[Terminal]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("STATUS", lambda one: one.status, whole=True),
    Column("OPENED BY", lambda one: one.opened_by),
    Column("FROM", lambda one: one.address),
    Column("SINCE", lambda one: one.created_at, whole=True),
    Column("ENDED", lambda one: one.ended_at, whole=True),
    Column("WHY", lambda one: one.reason),
]


def open_terminal(session: Session, allocation: AllocationArgument, project: ProjectOption = None) -> None:
    """Open a shell on an allocation through the platform. Returns the shell's status; `~.` on a new line disconnects."""
    from gpuaas_cli.raw_terminal import attach, window_size
    from gpuaas_sdk.terminal import TerminalStream

    where, found = _find(session, project, allocation)
    columns, rows = window_size()
    with TerminalStream(
        session.client, session.client.terminals.open(where, found, columns=columns, rows=rows)
    ) as stream:
        end = attach(stream)
    session.err.print(end.message)
    raise typer.Exit(end.exit_status or 0 if end.reason in ("exited", "closed") else 1)


group.verb("open")(open_terminal)


@group.verb("list")
def list_(
    session: Session, allocation: AllocationArgument, limit: LimitOption = 100, project: ProjectOption = None
) -> None:
    """List the terminals of an allocation, newest first."""
    where, found = _find(session, project, allocation)
    print_list(session, session.client.terminals.list(where, found).first(limit), COLUMNS)


@group.verb("close")
def close(
    session: Session,
    allocation: AllocationArgument,
    terminal: Annotated[str, typer.Argument(help="Terminal: id.")],
    project: ProjectOption = None,
) -> None:
    """Close a terminal: your own, or anyone's if you administer the project."""
    where, found = _find(session, project, allocation)
    print_list(session, [session.client.terminals.close(where, found, terminal)], COLUMNS)


def _find(session: Session, project: str | None, allocation: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, allocation_id(session.client, where, allocation)
