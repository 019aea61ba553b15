"""instances members: the parts of an instance, one by one or several together.

The separate group `members` is about people and their roles in a project.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as replace_
from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup, remove_options
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.instance_views import member_columns, print_member
from gpuaas_cli.operation_options import SetOption, options_of
from gpuaas_cli.operation_views import follow_to_end, print_operations
from gpuaas_cli.options import DeadlineOption, LimitOption, ProjectOption, WatchOption, YesOption
from gpuaas_cli.output import print_list
from gpuaas_cli.references import allocation_id, allocation_names, instance_id, instance_member_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import OPERATION_KINDS, NewMemberOperation, OperationKind, ReplaceTarget

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
    where, found = _find(session, project, instance)
    places = [allocation_id(session.client, where, one) for one in allocations]
    change = NewMemberOperation(
        kind="add", component_key=component, allocation_ids=places, on_failure=on_failure, reason=reason
    )
    _change(session, where, found, change, assignments, watch, deadline)


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
    _confirm(session, OPERATION_KINDS["replace"], pairs, instance, yes)
    where, found = _find(session, project, instance)
    moves = [_pair(session, where, found, pair) for pair in pairs]
    change = NewMemberOperation(kind="replace", replacements=moves, on_failure=on_failure, force=force, reason=reason)
    _change(session, where, found, change, assignments, watch, deadline)


def _confirm(session: Session, kind: OperationKind, named: Sequence[str], instance: str, yes: bool) -> None:
    if kind.confirmation is not None:
        session.confirm(f"{kind.name.capitalize()} {', '.join(named)} in {instance}? {kind.confirmation}", yes)


def _add_change(kind: OperationKind) -> None:
    """Add the command of a kind of operation that takes members and nothing else."""

    def change_members(
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
        _confirm(session, kind, members, instance, yes)
        where, found = _find(session, project, instance)
        targets = [instance_member_id(session.client, where, found, one) for one in members]
        change = NewMemberOperation(kind=kind.name, targets=targets, on_failure=on_failure, force=force, reason=reason)
        _change(session, where, found, change, assignments, watch, deadline)

    change_members.__doc__ = kind.description
    if not kind.may_remove_required_members:
        remove_options(change_members, "force")
    if kind.confirmation is None:
        remove_options(change_members, "yes")
    group.verb(kind.name)(change_members)


def _add_all() -> None:
    """Add a command for each kind of operation on members. Those that take more than members have functions above."""
    functions: Mapping[str, Callable[..., None]] = {"add": add, "replace": replace}
    for kind in OPERATION_KINDS.values():
        if kind.fields == ("targets",):
            _add_change(kind)
        elif kind.name in functions:
            functions[kind.name].__doc__ = kind.description
            group.verb(kind.name)(functions[kind.name])


_add_all()


def _pair(session: Session, where: str, instance: str, text: str) -> ReplaceTarget:
    member, equals, allocation = text.partition("=")
    if not (member and equals and allocation):
        raise CommandFailed("usage", f"{text} names no move.", "Write it as MEMBER=ALLOCATION.", ExitCode.USAGE)
    client = session.client
    found = instance_member_id(client, where, instance, member)
    return ReplaceTarget(member_id=found, allocation_id=allocation_id(client, where, allocation))


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
