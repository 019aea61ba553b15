"""operations: show, follow, cancel and force operations on app instances."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.operation_views import OperationProgress, print_ended, print_operation, print_operations
from gpuaas_cli.options import DeadlineOption, LimitOption, ProjectOption, ReasonOption, YesOption
from gpuaas_cli.references import instance_id, project_id
from gpuaas_cli.session import Session

group = CommandGroup("Operations on app instances and their members.")

OperationArgument = Annotated[str, typer.Argument(help="Operation (id).")]


class Status(StrEnum):
    PENDING = "pending"
    CLAIMED = "claimed"
    RUNNING = "running"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    CANCELLED = "cancelled"
    EXPIRED = "expired"


@group.verb("list")
def list_(
    session: Session,
    instance: Annotated[str | None, typer.Option("--instance", help="Only of this instance: id or name.")] = None,
    status: Annotated[Status | None, typer.Option("--status", help="Only those in this status.")] = None,
    parent: Annotated[
        str | None, typer.Option("--parent", help="Only the sub-operations of this operation (id).")
    ] = None,
    limit: LimitOption = 50,
    project: ProjectOption = None,
) -> None:
    """List operations, newest first."""
    where = project_id(session, project)
    about = None if instance is None else instance_id(session.client, where, instance)
    found = session.client.operations.list(where, instance_id=about, parent_id=parent, status=status)
    print_operations(session, found.first(limit))


@group.verb("show")
def show(session: Session, operation: OperationArgument, project: ProjectOption = None) -> None:
    """Show an operation with its steps, its failure and next step, and its sub-operations."""
    where = project_id(session, project)
    found = session.client.operations.show(where, operation)
    print_operation(session, found)
    if found.target == "bulk" and not session.as_json:
        session.out.print()
        print_operations(session, session.client.operations.list(where, parent_id=found.id))


@group.verb("follow")
def follow(
    session: Session, operation: OperationArgument, deadline: DeadlineOption = 3600, project: ProjectOption = None
) -> None:
    """Show each step as it ends, until the operation ends. Exit code 0 only if it succeeded."""
    where = project_id(session, project)
    print_ended(session, OperationProgress(session, where).follow(operation, deadline))


@group.verb("cancel")
def cancel(
    session: Session,
    operation: OperationArgument,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")] = None,
    project: ProjectOption = None,
) -> None:
    """Cancel an operation: immediately if no controller has it, otherwise at the controller's next safe point."""
    where = project_id(session, project)
    changed = session.client.operations.cancel(where, operation, reason=reason)
    print_operation(session, changed)
    if changed.live:
        session.say(
            f"The controller will stop at the next safe point. Follow it: gpuaas operations follow {changed.id}"
        )


@group.verb("force")
def force(
    session: Session,
    operation: OperationArgument,
    reason: ReasonOption,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """End a stuck operation, or accept an unproven teardown. It stays "not verified" permanently."""
    session.confirm(f"Force {operation}? Its hosts will not be verified.", yes)
    print_operation(session, session.client.operations.force(project_id(session, project), operation, reason))
