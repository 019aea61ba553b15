"""nodes reports: hosts that tenants reported as broken."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ReasonOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.references import node_id
from gpuaas_cli.session import Session
from gpuaas_sdk import HostReport

group = CommandGroup("Hosts that tenants reported as broken.")

COLUMNS: list[Column[HostReport]] = [
    Column("ID", lambda one: one.id, whole=True),
    Column("NODE", lambda one: one.node_id, whole=True),
    Column("ALLOCATION", lambda one: one.allocation_id),
    Column("REASON", lambda one: one.reason),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("CLEARED", lambda one: one.cleared_reason),
]


@group.verb("list")
def list_(
    session: Session,
    node: Annotated[str | None, typer.Option("--node", help="Only of this node: id, name or hostname.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Include cleared reports.")] = False,
    limit: LimitOption = 100,
) -> None:
    """List open reports, newest first."""
    where = node_id(session.client, node) if node else None
    found = session.client.host_reports.list(node_id=where, cleared=None if everything else False)
    print_list(session, found.first(limit), COLUMNS)


@group.verb("clear")
def clear(
    session: Session, report: Annotated[str, typer.Argument(help="Report id (hrp_…).")], reason: ReasonOption
) -> None:
    """Record that the host was inspected. GPUs that the report kept out of the pool return to it."""
    print_list(session, [session.client.host_reports.clear(report, reason)], COLUMNS)
