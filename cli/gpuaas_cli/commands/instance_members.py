"""instances members: the parts of an instance, one by one or several together.

The separate group `members` is about people and their roles in a project.
"""

from collections.abc import Sequence
from dataclasses import replace as replace_
from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.instance_views import member_columns, print_member
from gpuaas_cli.operation_options import SetOption, options_of
from gpuaas_cli.operation_views import follow_to_end, print_operations
from gpuaas_cli.options import DeadlineOption, LimitOption, ProjectOption, WatchOption, YesOption
from gpuaas_cli.output import print_list
from gpuaas_cli.references import allocation_id, allocation_names, instance_id, instance_member_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import NewMemberOperation, ReplaceTarget

group = CommandGroup("Members of an instance: which component runs on which allocation.")

InstanceArgument = Annotated[str, typer.Argument(help="Instance: id or name.")]
MemberArgument = Annotated[str, typer.Argument(help="Member: COMPONENT/NUMBER, or its id.")]
MembersArgument = Annotated[list[str], typer.Argument(help="Members: COMPONENT/NUMBER, or ids.", metavar="MEMBER")]
ForceOption = Annotated[bool, typer.Option("--force", help="Also if the app needs these members. Needs --reason.")]
WhyOption = Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")]


class OnFailure(StrEnum):
    CONTINUE = "continue"
    STOP = "stop"


OnFailureOption = Annotated[
    OnFailure | None,
    typer.Option(
        "--on-failure",
        help="With several members: continue with the others (default), or work one by one and stop at a failure.",
    ),
]


@group.verb("list")
def list_(
    session: Session,
    instance: InstanceArgument,
    removed: Annotated[bool, typer.Option("--removed", help="Include removed members.")] = False,
    limit: LimitOption = 500,
    project: ProjectOption = None,
) -> None:
    """List the members of an instance."""
    where, found = _find(session, project, instance)
    members = session.client.instances.members(where, found, removed=removed).first(limit)
    names = {} if session.as_json else allocation_names(session.client, where)
    print_list(session, members, member_columns(names))


@group.verb("show")
def show(session: Session, instance: InstanceArgument, member: MemberArgument, project: ProjectOption = None) -> None:
    """Show one member: its failure, its allocation, its controller's report, and what you may do."""
    where, found = _find(session, project, instance)
    wanted = instance_member_id(session.client, where, found, member)
    print_member(session, session.client.instances.member(where, found, wanted))


@group.verb("add")
def add(
    session: Session,
    instance: InstanceArgument,
    allocations: Annotated[
        list[str], typer.Argument(help="Allocations to run on: ids or names.", metavar="ALLOCATION")
    ],
    component: Annotated[str, typer.Option("--component", "-c", help="Which component of the app.")],
    on_failure: OnFailureOption = None,
    assignments: SetOption = None,
    reason: WhyOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Add a member on each named allocation."""
    where, found = _find(session, project, instance)
    places = [allocation_id(session.client, where, one) for one in allocations]
    change = NewMemberOperation(
        kind="add", component_key=component, allocation_ids=places, on_failure=on_failure, reason=reason
    )
    _change(session, where, found, change, assignments, watch, deadline)


@group.verb("drain")
def drain(
    session: Session,
    instance: InstanceArgument,
    members: MembersArgument,
    on_failure: OnFailureOption = None,
    assignments: SetOption = None,
    force: ForceOption = False,
    reason: WhyOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Let members finish their work and take no new work. `recover` brings them back."""
    where, found = _find(session, project, instance)
    change = _of_targets(session, where, found, "drain", members, on_failure, reason)
    _change(session, where, found, replace_(change, force=force), assignments, watch, deadline)


@group.verb("remove")
def remove(
    session: Session,
    instance: InstanceArgument,
    members: MembersArgument,
    on_failure: OnFailureOption = None,
    assignments: SetOption = None,
    force: ForceOption = False,
    reason: WhyOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """Remove members permanently, including failed ones. The platform inspects their hosts for proof."""
    session.confirm(f"Remove {', '.join(members)} from {instance}? Whatever runs there ends.", yes)
    where, found = _find(session, project, instance)
    change = _of_targets(session, where, found, "remove", members, on_failure, reason)
    _change(session, where, found, replace_(change, force=force), assignments, watch, deadline)


@group.verb("recover")
def recover(
    session: Session,
    instance: InstanceArgument,
    members: MembersArgument,
    on_failure: OnFailureOption = None,
    assignments: SetOption = None,
    reason: WhyOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Bring failed, degraded or drained members back on their present allocations."""
    where, found = _find(session, project, instance)
    change = _of_targets(session, where, found, "recover", members, on_failure, reason)
    _change(session, where, found, change, assignments, watch, deadline)


@group.verb("replace")
def replace(
    session: Session,
    instance: InstanceArgument,
    pairs: Annotated[
        list[str],
        typer.Argument(help="MEMBER=ALLOCATION: which member moves to which allocation.", metavar="MEMBER=ALLOCATION"),
    ],
    on_failure: OnFailureOption = None,
    assignments: SetOption = None,
    force: ForceOption = False,
    reason: WhyOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """Add a new member on another allocation, then remove the old member."""
    session.confirm(f"Replace {', '.join(pairs)} in {instance}? Whatever runs on the old ones ends.", yes)
    where, found = _find(session, project, instance)
    moves = [_pair(session, where, found, pair) for pair in pairs]
    change = NewMemberOperation(kind="replace", replacements=moves, on_failure=on_failure, force=force, reason=reason)
    _change(session, where, found, change, assignments, watch, deadline)


def _pair(session: Session, where: str, instance: str, text: str) -> ReplaceTarget:
    member, equals, allocation = text.partition("=")
    if not (member and equals and allocation):
        raise CommandFailed("usage", f"{text} names no move.", "Write it as MEMBER=ALLOCATION.", ExitCode.USAGE)
    client = session.client
    found = instance_member_id(client, where, instance, member)
    return ReplaceTarget(member_id=found, allocation_id=allocation_id(client, where, allocation))


def _of_targets(
    session: Session,
    where: str,
    instance: str,
    kind: str,
    members: Sequence[str],
    on_failure: str | None,
    reason: str | None,
) -> NewMemberOperation:
    targets = [instance_member_id(session.client, where, instance, one) for one in members]
    return NewMemberOperation(kind=kind, targets=targets, on_failure=on_failure, reason=reason)


def _find(session: Session, project: str | None, instance: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, instance_id(session.client, where, instance)


def _change(
    session: Session,
    where: str,
    instance: str,
    change: NewMemberOperation,
    assignments: Sequence[str] | None,
    watch: bool,
    deadline: float,
) -> None:
    options = options_of(session, where, instance, change.kind, assignments)
    operation = session.client.instances.change_members(where, instance, replace_(change, options=options))
    if watch:
        follow_to_end(session, where, operation, deadline)
    else:
        print_operations(session, [operation])
        session.say(f"Follow it: gpuaas operations follow {operation.id}")
