"""logs: what the members of an instance write to their hosts' journals."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Annotated

import typer
from rich.text import Text

from gpuaas_cli.command_group import CommandGroup, with_session
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.log_streams import follow_all
from gpuaas_cli.options import ProjectOption, past
from gpuaas_cli.output import moment
from gpuaas_cli.references import instance_id, instance_member_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import LogLine

# As other tools colour the parts of an app; the error levels of the journal have their own colours.
MEMBER_COLOURS = ("cyan", "green", "magenta", "blue", "yellow", "bright_cyan", "bright_green", "bright_magenta")
LEVEL_COLOURS = {"emergency": "red", "alert": "red", "critical": "red", "error": "red", "warning": "yellow"}


def add_to(app: CommandGroup) -> None:
    app.command("logs")(with_session(logs))


def logs(
    session: Session,
    instance: Annotated[str, typer.Argument(help="Instance: id or name.")],
    member: Annotated[
        list[str] | None, typer.Option("--member", "-m", help="Only this member: COMPONENT/NUMBER, or its id.")
    ] = None,
    source: Annotated[str | None, typer.Option("--source", help="Only lines of this unit.")] = None,
    since: Annotated[str | None, typer.Option("--since", help="Only lines since: 10m, 2h, 1d ago, or a time.")] = None,
    until: Annotated[str | None, typer.Option("--until", help="Only lines until: 10m, 2h, 1d ago, or a time.")] = None,
    tail: Annotated[
        int | None, typer.Option("--tail", min=1, max=10_000, help="Newest lines of each member. Default: 100.")
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Print lines as they are written.")] = False,
    project: ProjectOption = None,
) -> None:
    """Show what the members of an instance write, merged by time. With --output json, one JSON object per line."""
    where = project_id(session, project)
    found = instance_id(session.client, where, instance)
    names = _members(session, where, found, member or [])
    start, end = past(since), past(until)
    printer = LinePrinter(session, names)
    if follow:
        if end is not None:
            raise typer.BadParameter("--until does not go together with --follow")
        for one in follow_all(session.client, where, found, list(names), source=source, since=start, tail=tail or 100):
            printer.show(one.member_id, one.line, one.left_out)
        return
    for line in _merged(session, where, found, names, source, start, end, tail):
        printer.show(line.member_id, line, 0)


def _members(session: Session, where: str, instance: str, wanted: list[str]) -> dict[str, str]:
    """Return the names of the members by their ids, in their order."""
    ids = {instance_member_id(session.client, where, instance, text) for text in wanted}
    living = session.client.instances.members(where, instance)
    names = {one.id: f"{one.component_key}/{one.ordinal}" for one in living if not wanted or one.id in ids}
    if not names:
        raise CommandFailed(
            "not_found",
            f"Instance {instance} has no members.",
            f"See its status with `gpuaas instances show {instance}`.",
            ExitCode.NOT_FOUND,
        )
    return names


def _merged(
    session: Session,
    where: str,
    instance: str,
    names: Mapping[str, str],
    source: str | None,
    since: datetime | None,
    until: datetime | None,
    tail: int | None,
) -> Iterator[LogLine]:
    """Return the lines of all members in the order of time: the newest ones, or with a time all since then."""
    calls = session.client.logs
    lines: list[LogLine] = []
    for member in names:
        if since is not None and tail is None:
            lines += calls.lines(where, instance, member=member, source=source, since=since, until=until)
        else:
            lines += calls.tail(where, instance, tail or 100, member=member, source=source, since=since, until=until)
    return iter(sorted(lines, key=_time))


def _time(line: LogLine) -> float:
    return 0.0 if line.at is None else line.at.timestamp()


class LinePrinter:
    """Prints lines with the names of their members, each in its colour."""

    def __init__(self, session: Session, names: Mapping[str, str]) -> None:
        self._session = session
        self._names = names
        self._width = max(map(len, names.values()))
        self._colours = {one: MEMBER_COLOURS[index % len(MEMBER_COLOURS)] for index, one in enumerate(names)}

    def show(self, member_id: str, line: LogLine | None, left_out: int) -> None:
        if self._session.as_json:
            body = {"member_id": member_id, "left_out": left_out} if line is None else dict(line.raw)
            named = body | {"member": self._names.get(member_id, member_id)}
            self._session.out.print(json.dumps(named), markup=False, soft_wrap=True)
            return
        name = (self._names.get(member_id, member_id).ljust(self._width), self._colours.get(member_id, "default"))
        if line is None:
            shown = Text.assemble(name, " ", (f"… {left_out:,} lines left out", "dim italic"))
        else:
            text = f"{line.text}{' …' if line.cut else ''}"
            level = LEVEL_COLOURS.get(line.level or "", "")
            shown = Text.assemble((moment(line.at), "dim"), " ", name, " ", (line.source, "dim"), " ", (text, level))
        self._session.out.print(shown, soft_wrap=True)
