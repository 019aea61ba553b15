"""deletions: tenants and projects that are being deleted."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.output import Column, age, print_list, short_moment
from gpuaas_cli.session import Session
from gpuaas_sdk import Deletion

group = CommandGroup("Deletions of tenants and projects that have not ended.")


def _place(one: Deletion) -> str:
    tenant = one.tenant_slug or one.tenant_id
    return tenant if one.project_id is None else f"{tenant}/{one.project_slug or one.project_id}"


COLUMNS: list[Column[Deletion]] = [
    Column("PLACE", _place, whole=True),
    Column("STATE", lambda one: "stuck" if one.stuck else one.state, whole=True),
    Column("DELETED AFTER", lambda one: short_moment(one.delete_after), whole=True),
    Column("WAITS FOR", lambda one: one.wait.stage if one.wait else "", whole=True),
    Column("SINCE", lambda one: age(one.wait.since) if one.wait else "", right=True, whole=True),
    Column("WHY", lambda one: one.wait.why if one.wait else ""),
    Column("NEXT STEP", lambda one: one.wait.next_step if one.wait else ""),
    Column("ID", lambda one: one.id, whole=True),
]


@group.verb("list")
def list_(
    session: Session,
    stuck: Annotated[bool, typer.Option("--stuck", help="Only deletions without progress for ten minutes.")] = False,
) -> None:
    """List the deletions that have not ended, with what each waits for and the next step. For operators of the platform."""
    print_list(session, session.client.deletions.list(stuck=stuck or None), COLUMNS)
