"""audit: who did what."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import LimitOption, ProjectOption, past
from gpuaas_cli.output import Column, print_list, short_moment
from gpuaas_cli.references import project_id, tenant_id
from gpuaas_cli.session import Session
from gpuaas_sdk import AuditRecord, RetentionPeriod

group = CommandGroup(
    "Audit trail of a project, of a tenant (--tenant), or of the platform (--platform). Default command: list.",
    lists_unless_told=True,
)


class AuditOutcome(StrEnum):
    DONE = "done"
    DENIED = "denied"
    FAILED = "failed"


class AuditSource(StrEnum):
    API = "api"
    CONSOLE = "console"
    CLI = "cli"
    CONTROLLER = "controller"
    AGENT = "agent"
    SYSTEM = "system"


COLUMNS: list[Column[AuditRecord]] = [
    Column("TIME", lambda one: short_moment(one.at), whole=True),
    Column("WHO", lambda one: one.actor_name or one.actor_id),
    Column("ACTION", lambda one: one.action if one.outcome == "done" else f"{one.action} ({one.outcome})"),
    Column("RESOURCE", lambda one: one.resource_id, whole=True),
    Column("REASON", lambda one: one.reason),
]
ORIGIN: list[Column[AuditRecord]] = [
    *COLUMNS[:3],
    Column("SOURCE", lambda one: one.source, whole=True),
    Column("ADDRESS", lambda one: one.address, whole=True),
    Column("USER AGENT", lambda one: one.user_agent),
]

PERIODS: list[Column[RetentionPeriod]] = [
    Column("WHAT", lambda one: one.name, whole=True),
    Column("DAYS", lambda one: one.days, right=True, whole=True),
    Column("SETTING", lambda one: one.setting, whole=True),
    Column("MEANING", lambda one: one.description),
]


@group.verb("retention")
def retention(session: Session) -> None:
    """Show for how many days audit records, events and other records are kept."""
    print_list(session, session.client.audit.retention(), PERIODS)


@group.verb("list")
def list_(
    session: Session,
    project: ProjectOption = None,
    tenant: Annotated[str | None, typer.Option("--tenant", "-t", help="Records of this tenant: id or slug.")] = None,
    platform: Annotated[bool, typer.Option("--platform", help="Records of the whole platform.")] = False,
    resource: Annotated[str | None, typer.Option("--resource", help="Only about this id.")] = None,
    actor: Annotated[str | None, typer.Option("--actor", help="Only by this user or service account (id).")] = None,
    action: Annotated[str | None, typer.Option("--action", help="Only this action, such as allocation_create.")] = None,
    outcome: Annotated[AuditOutcome | None, typer.Option("--outcome", help="Only records with this outcome.")] = None,
    source: Annotated[
        AuditSource | None,
        typer.Option("--source", help="Only records from this source; system: the platform itself."),
    ] = None,
    correlation: Annotated[
        str | None, typer.Option("--correlation", help="Only records with this correlation id.")
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", help="Only records since then: a span (90m, 12h, 30d) or a time.")
    ] = None,
    before: Annotated[str | None, typer.Option("--before", help="Only records before then: a span or a time.")] = None,
    origin: Annotated[
        bool, typer.Option("--origin", help="Show where each request came from instead of its subject.")
    ] = False,
    limit: LimitOption = 50,
) -> None:
    """List audit records, newest first."""
    client = session.client
    records = client.audit.list(
        tenant_id=tenant_id(client, tenant) if tenant and not platform else None,
        project_id=None if tenant or platform else project_id(session, project),
        resource_id=resource,
        actor_id=actor,
        action=action,
        outcome=outcome,
        source=source,
        correlation_id=correlation,
        since=past(since),
        before=past(before),
    )
    print_list(session, records.first(limit), ORIGIN if origin else COLUMNS)
