"""nodes maintenance: planned work on hosts, announced to their tenants."""

from datetime import UTC, datetime
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ReasonOption, YesOption, expiry
from gpuaas_cli.output import Column, print_card, print_list, short_moment
from gpuaas_cli.references import node_id
from gpuaas_cli.session import Session
from gpuaas_sdk import MaintenanceWindow

group = CommandGroup("Planned maintenance of nodes.")

COLUMNS: list[Column[MaintenanceWindow]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("STATE", lambda one: one.state, whole=True),
    Column("FROM", lambda one: short_moment(one.starts_at), whole=True),
    Column("UNTIL", lambda one: short_moment(one.ends_at), whole=True),
    Column("REASON", lambda one: one.reason),
    Column("NODE", lambda one: one.node_id),
]
WindowArgument = Annotated[str, typer.Argument(help="Maintenance window id (mtw_…).")]


@group.verb("plan")
def plan(
    session: Session,
    node: Annotated[str, typer.Argument(help="Node: id, name or hostname.")],
    until: Annotated[str, typer.Option("--until", help="When it ends: 90m, 12h, 2d from now, or 2030-01-31T12:00Z.")],
    reason: Annotated[str, typer.Option("--reason", help="The planned work; tenants read it.")],
    start: Annotated[
        str | None,
        typer.Option("--from", help="When it begins: 90m, 12h, 2d from now, or 2030-01-31T10:00Z. Default: now."),
    ] = None,
    cordon_from_now: Annotated[
        bool, typer.Option("--cordon-from-now", help="Take no new allocations from now on, before it begins.")
    ] = False,
) -> None:
    """Announce maintenance of a node to its projects. The node is cordoned for the duration of the window."""
    now = datetime.now(UTC)
    window = session.client.maintenance_windows.plan(
        node_id(session.client, node),
        starts_at=expiry(start) or now,
        ends_at=expiry(until) or now,
        reason=reason,
        cordon_from_now=cordon_from_now,
    )
    _print(session, window)


@group.verb("list")
def list_(
    session: Session,
    node: Annotated[str | None, typer.Option("--node", help="Only of this node: id, name or hostname.")] = None,
    state: Annotated[
        str | None, typer.Option(help="Only windows with this status: planned, active, ended or cancelled.")
    ] = None,
    limit: LimitOption = 100,
) -> None:
    """List maintenance windows, newest first."""
    where = node_id(session.client, node) if node else None
    found = session.client.maintenance_windows.list(node_id=where, state=state)
    print_list(session, found.first(limit), COLUMNS)


@group.verb("cancel")
def cancel(session: Session, window: WindowArgument, reason: ReasonOption) -> None:
    """Cancel a window that has not begun, and notify the projects."""
    _print(session, session.client.maintenance_windows.cancel(window, reason))


@group.verb("end")
def end(session: Session, window: WindowArgument, yes: YesOption = False) -> None:
    """End a window early. The node takes allocations again unless it is cordoned for another reason."""
    session.confirm(f"End {window} now?", yes)
    _print(session, session.client.maintenance_windows.end(window))


def _print(session: Session, window: MaintenanceWindow) -> None:
    fields = [
        ("Id", window.id),
        ("Node", window.node_id),
        ("State", window.state),
        ("From", window.starts_at),
        ("Until", window.ends_at),
        ("Reason", window.reason),
        ("Cordoned", window.cordoned_at),
        ("Planned by", window.planned_by),
        ("Finished", window.finished_at),
        ("Because", window.finished_reason),
        ("You may", window.allowed_actions),
    ]
    print_card(session, window, fields)
