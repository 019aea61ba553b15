"""usage: what apps have measured for a project, in its own instances and in those that serve it."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ProjectOption, past
from gpuaas_cli.output import Column, print_list, short_moment
from gpuaas_cli.references import is_id, only_one, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import UsageRecord, UsageTotal

group = CommandGroup("App usage: what apps have measured for a project, besides the GPU time of its allocations.")

InstanceOption = Annotated[
    str | None, typer.Option("--instance", help="Only of this instance (id or name), of the project or serving it.")
]

RECORDS: list[Column[UsageRecord]] = [
    Column("ENDED", lambda one: short_moment(one.ended_at), whole=True),
    Column("APP", lambda one: one.app_slug, whole=True),
    Column("METRIC", lambda one: one.metric, whole=True),
    Column("QUANTITY", lambda one: one.quantity, right=True, whole=True),
    Column("UNIT", lambda one: one.unit, whole=True),
    Column("SUBJECT", lambda one: one.subject),
    Column("SOURCE", lambda one: one.source_key),
]
TOTALS: list[Column[UsageTotal]] = [
    Column("INSTANCE", lambda one: one.instance_id, whole=True),
    Column("APP", lambda one: one.app_slug),
    Column("METRIC", lambda one: one.metric, whole=True),
    Column("QUANTITY", lambda one: one.quantity, right=True, whole=True),
    Column("UNIT", lambda one: one.unit, whole=True),
    Column("RECORDS", lambda one: one.records, right=True, whole=True),
]


@group.verb("list")
def list_(
    session: Session,
    instance: InstanceOption = None,
    since: Annotated[
        str | None,
        typer.Option("--since", help="Only records that ended at this time or later, for example 2030-01-31T12:00Z."),
    ] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only records that ended before this time.")] = None,
    limit: LimitOption = 50,
    project: ProjectOption = None,
) -> None:
    """List usage records, latest end first."""
    where = project_id(session, project)
    found = session.client.app_usage.list(
        where, instance_id=_instance(session, where, instance), since=past(since), before=past(before)
    )
    print_list(session, found.first(limit), RECORDS)


@group.verb("totals")
def totals(
    session: Session,
    instance: InstanceOption = None,
    first_day: Annotated[
        str | None,
        typer.Option("--from", help="First day in UTC, for example 2030-01-01. Default: 30 days before --to."),
    ] = None,
    last_day: Annotated[str | None, typer.Option("--to", help="Last day in UTC, inclusive. Default: today.")] = None,
    limit: LimitOption = 200,
    project: ProjectOption = None,
) -> None:
    """Show the totals per instance and metric of records that ended within a range of days."""
    where = project_id(session, project)
    found = session.client.app_usage.totals(
        where, instance_id=_instance(session, where, instance), first_day=first_day, last_day=last_day
    )
    print_list(session, found.first(limit), TOTALS)


def _instance(session: Session, where: str, text: str | None) -> str | None:
    """Find an instance by name in the project, or among the instances of other projects that serve it."""
    if text is None or is_id("ins", text):
        return text
    calls = session.client.instances
    both = (one for served in (False, True) for one in calls.list(where, served=served))
    return only_one("instance", text, both, lambda one: (one.name,)).id
