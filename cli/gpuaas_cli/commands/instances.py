"""instances: launch an app on allocations, show its health, and change it as a whole."""

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.commands import instance_members, instance_projects, instance_secrets, instance_verbs
from gpuaas_cli.instance_inputs import Document, InputForm, read_inputs
from gpuaas_cli.instance_views import INSTANCES, print_entries, print_entry, print_instance
from gpuaas_cli.operation_views import follow_to_end
from gpuaas_cli.options import DeadlineOption, LimitOption, ProjectOption, WatchOption
from gpuaas_cli.output import print_list
from gpuaas_cli.placements import placement_of
from gpuaas_cli.references import allocation_names, instance_id, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import NewInstance

group = CommandGroup("App instances: what a project runs on its allocations.")
FOLLOW_SECONDS = 20  # length of one long poll; shorter than the client's timeout

InstanceArgument = Annotated[str, typer.Argument(help="Instance: id or name.")]


class ReconcilePolicy(StrEnum):
    OFF = "off"
    NOTIFY = "notify"
    AUTO = "auto"


class Status(StrEnum):
    CREATED = "created"
    STARTING = "starting"
    RUNNING = "running"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


@group.verb("deploy")
def deploy(
    session: Session,
    app: Annotated[str, typer.Argument(help="The app's slug; see gpuaas apps list.")],
    name: Annotated[str, typer.Option("--name", help="A name that you can use instead of the id.")],
    places: Annotated[
        list[str],
        typer.Option("--place", help="COMPONENT=ALLOCATION (id or name; several with commas); repeat for more."),
    ],
    version: Annotated[
        str | None, typer.Option("--version", help="Default: the newest version that may be launched.")
    ] = None,
    file: Annotated[Path | None, typer.Option("--inputs", "-f", help="The app's inputs, YAML or JSON.")] = None,
    assignments: Annotated[
        list[str] | None, typer.Option("--set", help="One input as NAME=VALUE; overrides the file; repeat for more.")
    ] = None,
    serves: Annotated[
        list[str] | None,
        typer.Option(
            "--serve", help="Another project that it serves and whose allocations it may use; repeat for more."
        ),
    ] = None,
    queue: Annotated[
        bool, typer.Option("--queue", help="Launch even if no controller serves the app now; the launch waits for one.")
    ] = False,
    secret_files: Annotated[
        list[str] | None,
        typer.Option("--secret-file", help="A secret that the app declares, as NAME=FILE; - reads standard input."),
    ] = None,
    policy: Annotated[
        ReconcilePolicy | None,
        typer.Option(
            "--reconcile-policy",
            help="What the platform does when members drift: nothing, tell, or reconcile. [notify]",
        ),
    ] = None,
    watch: WatchOption = False,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Launch an app. On a terminal, asks for missing inputs. With --watch, shows the steps to the end."""
    where = project_id(session, project)
    intent = placement_of(session, where, places)
    inputs = _inputs(session, where, app, version, file, assignments or ())
    others = [project_id(session, one) for one in serves or ()] or None
    new = NewInstance(
        app=app,
        name=name,
        version=version,
        placement_intent=intent,
        inputs=inputs,
        served_projects=others,
        when_no_controller="queue" if queue else None,
        reconcile_policy=policy,
        secrets=instance_secrets.secrets_of_launch(secret_files or ()),
    )
    started = session.client.instances.create(where, new)
    if watch:
        follow_to_end(session, where, started.operation, deadline)
        if not session.as_json:  # includes how to reach the app
            session.out.print()
            print_instance(session, session.client.instances.show(where, started.instance.id))
    else:
        print_list(session, [started.instance], INSTANCES)
        session.say(f"Follow it: gpuaas operations follow {started.operation.id}")


def _inputs(
    session: Session, where: str, app: str, version: str | None, file: Path | None, assignments: Sequence[str]
) -> Document:
    schema = session.client.catalog.show(where, app, version=version).manifest.get("inputs")
    form = InputForm(schema if isinstance(schema, dict) else {})
    inputs = {} if file is None else read_inputs(file)
    inputs |= form.parse_assignments(assignments)
    if sys.stdin.isatty() and not session.as_json:
        inputs |= form.ask_missing(inputs, _ask, session.say, everything=file is None and not assignments)
    return inputs


def _ask(question: str, default: str | None) -> str:
    return str(typer.prompt(question, default=default, show_default=bool(default), err=True))


@group.verb("list")
def list_(
    session: Session,
    status: Annotated[Status | None, typer.Option("--status", help="Only those in this status.")] = None,
    app: Annotated[str | None, typer.Option("--app", help="Only of this app (slug).")] = None,
    served: Annotated[
        bool, typer.Option("--served", help="Only instances of other projects that serve this one.")
    ] = False,
    limit: LimitOption = 100,
    project: ProjectOption = None,
) -> None:
    """List instances, newest first."""
    found = session.client.instances.list(project_id(session, project), status=status, app=app, served=served)
    print_list(session, found.first(limit), INSTANCES)


@group.verb("show")
def show(session: Session, instance: InstanceArgument, project: ProjectOption = None) -> None:
    """Show an instance: health with every reason, members, the app's own report, and what you may do."""
    where = project_id(session, project)
    found = instance_id(session.client, where, instance)
    shown = session.client.instances.show(where, found)
    if session.as_json:
        print_instance(session, shown)
    else:
        members = list(session.client.instances.members(where, found))
        print_instance(session, shown, members, allocation_names(session.client, where) if members else {})


@group.verb("reconcile-policy")
def reconcile_policy(
    session: Session,
    instance: InstanceArgument,
    policy: Annotated[ReconcilePolicy, typer.Argument(help="off: nothing, notify: tell, auto: request a reconcile.")],
    project: ProjectOption = None,
) -> None:
    """Set what the platform does when members of an instance drift. Also restarts attempts that had stopped."""
    where = project_id(session, project)
    found = session.client.instances.show(where, instance_id(session.client, where, instance))
    print_instance(session, session.client.instances.update(where, found.id, policy, generation=found.generation))


@group.verb("timeline")
def timeline(
    session: Session,
    instance: InstanceArgument,
    follow: Annotated[bool, typer.Option("--follow", help="Keep printing new entries until Ctrl-C.")] = False,
    limit: Annotated[int, typer.Option("--limit", min=1, max=500, help="Maximum number of entries.")] = 200,
    project: ProjectOption = None,
) -> None:
    """Show the history of an instance, its members and operations, oldest first."""
    where = project_id(session, project)
    found = instance_id(session.client, where, instance)
    page = session.client.instances.timeline(where, found, limit=limit)
    if not follow:
        print_entries(session, page.items, page.raw.get("items"))
        return
    while True:
        for entry in page.items:
            print_entry(session, entry)
        page = session.client.instances.timeline(where, found, after=page.next_cursor, wait=FOLLOW_SECONDS)


instance_verbs.add_to(group)
instance_projects.add_to(group)
group.add_typer(instance_members.group, name="members")
group.add_typer(instance_secrets.group, name="secrets")
