"""instances start, stop, upgrade …: operations on the whole instance."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup, remove_options
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.operation_options import SetOption, options_of
from gpuaas_cli.operation_views import follow_to_end, print_operation, print_operations
from gpuaas_cli.options import DeadlineOption, ProjectOption, ReasonOption, WatchOption, YesOption
from gpuaas_cli.references import instance_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import OPERATION_KINDS, Operation, OperationKind

InstanceArgument = Annotated[str, typer.Argument(help="Instance: id or name.")]
WhyOption = Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")]

# `instances deploy` launches a new instance; to deploy the one that is there has another name.
_NAMES = {"deploy": "redeploy"}


def add_to(group: CommandGroup) -> None:
    """Add a command for each kind of operation on the whole instance."""
    for kind in OPERATION_KINDS.values():
        if kind.target == "instance" and not kind.has_own_endpoint:
            _add_verb(group, kind)
    upgrade.__doc__ = OPERATION_KINDS["upgrade"].description
    group.verb("upgrade")(upgrade)
    group.verb("force")(force)


def _add_verb(group: CommandGroup, kind: OperationKind) -> None:
    verb = kind.name

    def operate(
        session: Session,
        instance: InstanceArgument,
        assignments: SetOption = None,
        reason: WhyOption = None,
        watch: WatchOption = False,
        deadline: DeadlineOption = 3600,
        yes: YesOption = False,
        project: ProjectOption = None,
    ) -> None:
        if kind.confirmation is not None:
            session.confirm(f"{verb.capitalize()} {instance}? {kind.confirmation}", yes)
        where, found = _find(session, project, instance)
        options = options_of(session, where, found, verb, assignments)
        started = session.client.instances.operate(where, found, verb, options=options, reason=reason)
        _follow_or_print(session, where, started.operation, watch, deadline)

    operate.__doc__ = kind.description
    if kind.confirmation is None:
        remove_options(operate, "yes")
    group.verb(_NAMES.get(verb, verb))(operate)


def upgrade(
    session: Session,
    instance: InstanceArgument,
    version: Annotated[str, typer.Argument(help="The target version of the app, such as 1.3.0.")],
    assignments: SetOption = None,
    reason: WhyOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    where, found = _find(session, project, instance)
    options = options_of(session, where, found, "upgrade", assignments)
    started = session.client.instances.upgrade(where, found, version, options=options, reason=reason)
    _follow_or_print(session, where, started.operation, watch, deadline)


def force(
    session: Session,
    instance: InstanceArgument,
    reason: ReasonOption,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """End a stuck operation of the instance, or accept an unproven teardown. It stays NOT verified permanently."""
    session.confirm(f"Force what {instance} is at? Nothing about its hosts is verified then.", yes)
    where, found = _find(session, project, instance)
    shown = session.client.instances.show(where, found)
    operation = shown.operation_id or shown.last_operation_id
    if operation is None:
        raise CommandFailed("conflict", "The instance has had no operation yet.", "", ExitCode.CONFLICT)
    print_operation(session, session.client.operations.force(where, operation, reason))


def _find(session: Session, project: str | None, instance: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, instance_id(session.client, where, instance)


def _follow_or_print(session: Session, where: str, operation: Operation, watch: bool, deadline: float) -> None:
    if watch:
        follow_to_end(session, where, operation, deadline)
    else:
        print_operations(session, [operation])
        session.say(f"Follow it: gpuaas operations follow {operation.id}")
