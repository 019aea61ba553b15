"""events: list and follow what happens in a project."""

import json
from itertools import islice
from typing import Annotated

import typer
from rich.text import Text

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ProjectOption
from gpuaas_cli.output import Column, moment, print_list, short_moment
from gpuaas_cli.references import project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Event

group = CommandGroup(
    "Events of a project, or of the platform (--platform). Default command: list.", lists_unless_told=True
)

SubjectOption = Annotated[str | None, typer.Option("--subject", help="Only about this id.")]
AfterOption = Annotated[str | None, typer.Option("--after", help="Only after this cursor.")]
PlatformOption = Annotated[bool, typer.Option("--platform", help="Events of the whole platform; for operators.")]


def _data(event: Event) -> str:
    return ", ".join(f"{name}={value}" for name, value in event.data.items() if value is not None)[:200]


COLUMNS: list[Column[Event]] = [
    Column("TIME", lambda one: short_moment(one.time), whole=True),
    Column("TYPE", lambda one: one.type, whole=True),
    Column("SUBJECT", lambda one: one.subject, whole=True),
    Column("DATA", _data),
]


@group.verb("list")
def list_(
    session: Session,
    subject: SubjectOption = None,
    after: AfterOption = None,
    limit: LimitOption = 50,
    project: ProjectOption = None,
    platform: PlatformOption = False,
) -> None:
    """List the newest events (at most 500), or those after a cursor; oldest first."""
    where = None if platform else project_id(session, project)
    if after is None:
        found = session.client.events.tail(where, min(limit, 500), subject=subject).items
    else:
        found = list(islice(session.client.events.list(where, after=after, subject=subject), limit))
    print_list(session, found, COLUMNS)


@group.verb("follow")
def follow(
    session: Session,
    subject: SubjectOption = None,
    after: AfterOption = None,
    from_start: Annotated[bool, typer.Option("--from-start", help="Begin with the oldest stored event.")] = False,
    project: ProjectOption = None,
    platform: PlatformOption = False,
) -> None:
    """Print events as they happen, until Ctrl-C. With --output json, one JSON object per line."""
    where = None if platform else project_id(session, project)
    cursor = after if after or from_start else session.client.events.end(where)
    for event in session.client.watch(where, subject, cursor):
        _print(session, event)


def _print(session: Session, event: Event) -> None:
    if session.as_json:
        session.out.print(json.dumps(event.raw), markup=False, soft_wrap=True)
        return
    line = Text.assemble((moment(event.time), "dim"), " ", (event.type, "bold"), " ", event.subject, " ", _data(event))
    session.out.print(line, soft_wrap=True)
