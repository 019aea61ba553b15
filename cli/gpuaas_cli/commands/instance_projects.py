"""instances serve, unserve and projects: which projects of its tenant an instance serves."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.instance_views import print_projects
from gpuaas_cli.operation_views import follow_to_end, print_operations
from gpuaas_cli.options import DeadlineOption, ProjectOption, WatchOption, YesOption
from gpuaas_cli.references import instance_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import ServedProjectChanged

InstanceArgument = Annotated[str, typer.Argument(help="Instance: id or name.")]
ServedArgument = Annotated[str, typer.Argument(help="The other project: id, slug or tenant/slug.")]


def add_to(group: CommandGroup) -> None:
    group.verb("serve")(serve)
    group.verb("unserve")(unserve)
    group.verb("projects")(projects)


def serve(
    session: Session,
    instance: InstanceArgument,
    served: ServedArgument,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Let an instance serve another project of the tenant. You must administer both projects."""
    where = project_id(session, project)
    found, other = instance_id(session.client, where, instance), project_id(session, served)
    _follow_or_print(session, where, session.client.instances.set_served_project(where, found, other), watch, deadline)


def unserve(
    session: Session,
    instance: InstanceArgument,
    served: ServedArgument,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """Stop serving a project. Remove members on its allocations first; its recorded usage stays."""
    session.confirm(f"Stop serving {served}?", yes)
    where = project_id(session, project)
    found, other = instance_id(session.client, where, instance), project_id(session, served)
    _follow_or_print(
        session, where, session.client.instances.remove_served_project(where, found, other), watch, deadline
    )


def projects(session: Session, instance: InstanceArgument, project: ProjectOption = None) -> None:
    """List the projects that an instance serves, its own first."""
    where = project_id(session, project)
    found = session.client.instances.served_projects(where, instance_id(session.client, where, instance))
    print_projects(session, found)


def _follow_or_print(session: Session, where: str, answer: ServedProjectChanged, watch: bool, deadline: int) -> None:
    operation = answer.operation
    if operation is None:
        session.say(f"{answer.instance.name} is up to date; there is nothing to do.")
    elif watch:
        follow_to_end(session, where, operation, deadline)
    else:
        print_operations(session, [operation])
        session.say(f"Follow it: gpuaas operations follow {operation.id}")
