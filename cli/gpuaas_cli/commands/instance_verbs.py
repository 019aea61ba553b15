"""instances start, stop, upgrade …: operations on the whole instance."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.operation_options import SetOption, options_of
from gpuaas_cli.operation_views import OPERATIONS, print_operation, watched
from gpuaas_cli.options import DeadlineOption, ProjectOption, ReasonOption, WatchOption, YesOption
from gpuaas_cli.references import instance_id, project_id
from gpuaas_cli.rendering import print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import Operation

InstanceArgument = Annotated[str, typer.Argument(help="Instance: id or name.")]
WhyOption = Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")]

# Verbs that take nothing away, and what they do.
_HARMLESS = {
    "redeploy": ("deploy", "Try a first deploy that did not succeed again."),
    "start": ("start", "Start a stopped instance."),
    "restart": ("restart", "Restart every member."),
    "rollback": ("rollback", "Go back to the version before the last upgrade, also after one that broke off."),
    "reconcile": ("reconcile", "Bring what is there in line with what is wanted, without touching what is right."),
    "repair": ("repair", "Let the app's controller mend what does not work."),
}
# Verbs that end something: they ask first.
_ENDING = {
    "stop": ("Stop {0}? What runs on it ends.", "Stop an instance. Stopped means proven: its hosts are looked at."),
    "decommission": (
        "Decommission {0}? It does not come back.",
        "End an instance for ever. Its history and its receipts stay.",
    ),
}


def add_to(group: CommandGroup) -> None:
    for name, (verb, help_) in _HARMLESS.items():
        _add_harmless(group, name, verb, help_)
    for verb, (question, help_) in _ENDING.items():
        _add_ending(group, verb, question, help_)
    group.verb("upgrade")(upgrade)
    group.verb("force")(force)


def _add_harmless(group: CommandGroup, name: str, verb: str, help_: str) -> None:
    def operate(
        session: Session,
        instance: InstanceArgument,
        assignments: SetOption = None,
        reason: WhyOption = None,
        watch: WatchOption = False,
        deadline: DeadlineOption = 3600,
        project: ProjectOption = None,
    ) -> None:
        where, found = _find(session, project, instance)
        options = options_of(session, where, found, verb, assignments)
        started = session.client.instances.operate(where, found, verb, options=options, reason=reason)
        _after(session, where, started.operation, watch, deadline)

    operate.__doc__ = help_
    group.verb(name)(operate)


def _add_ending(group: CommandGroup, verb: str, question: str, help_: str) -> None:
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
        session.confirm(question.format(instance), yes)
        where, found = _find(session, project, instance)
        options = options_of(session, where, found, verb, assignments)
        started = session.client.instances.operate(where, found, verb, options=options, reason=reason)
        _after(session, where, started.operation, watch, deadline)

    operate.__doc__ = help_
    group.verb(verb)(operate)


def upgrade(
    session: Session,
    instance: InstanceArgument,
    version: Annotated[str, typer.Argument(help="The app's version to go to, as in 1.3.0.")],
    assignments: SetOption = None,
    reason: WhyOption = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Go to another version of the app. The one before stays known, for `rollback`."""
    where, found = _find(session, project, instance)
    options = options_of(session, where, found, "upgrade", assignments)
    started = session.client.instances.upgrade(where, found, version, options=options, reason=reason)
    _after(session, where, started.operation, watch, deadline)


def force(
    session: Session,
    instance: InstanceArgument,
    reason: ReasonOption,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """End the instance's operation that is stuck, or accept its teardown that is not proven: NOT verified for ever."""
    session.confirm(f"Force what {instance} is at? Nothing about its hosts is verified then.", yes)
    where, found = _find(session, project, instance)
    shown = session.client.instances.show(where, found)
    operation = shown.operation_id or shown.last_operation_id
    if operation is None:
        raise CommandFailed("conflict", "No operation was asked for yet.", "", ExitCode.CONFLICT)
    print_operation(session, session.client.operations.force(where, operation, reason))


def _find(session: Session, project: str | None, instance: str) -> tuple[str, str]:
    where = project_id(session, project)
    return where, instance_id(session.client, where, instance)


def _after(session: Session, where: str, operation: Operation, watch: bool, deadline: float) -> None:
    if watch:
        watched(session, where, operation, deadline)
    else:
        print_list(session, [operation], OPERATIONS)
        session.say(f"Follow it: gpuaas operations follow {operation.id}")
