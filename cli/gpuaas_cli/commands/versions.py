"""versions: the lifecycle of an app's versions, for its publisher."""

from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.artifact_views import EVIDENCE
from gpuaas_cli.catalog_views import VERSIONS, print_version
from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed
from gpuaas_cli.instance_inputs import read_inputs
from gpuaas_cli.options import DeadlineOption, ProjectOption, ReasonOption, YesOption, expiry
from gpuaas_cli.output import print_list
from gpuaas_cli.placements import placement_of
from gpuaas_cli.references import app_id, app_version, project_id
from gpuaas_cli.session import Session
from gpuaas_sdk import AppVersion

group = CommandGroup("Versions of the apps that a project publishes.")

AppArgument = Annotated[str, typer.Argument(help="App: slug or id.")]
VersionArgument = Annotated[str, typer.Argument(help="Version, such as 1.2.0, or its id.")]


def _find_version(session: Session, app: str, version: str, project: str | None) -> AppVersion:
    where = project_id(session, project)
    return app_version(session.client, where, app_id(session.client, where, app), version)


@group.verb("list")
def list_(session: Session, app: AppArgument, project: ProjectOption = None) -> None:
    """List an app's versions, newest first."""
    where = project_id(session, project)
    print_list(session, session.client.app_versions.list(where, app_id(session.client, where, app)), VERSIONS)


@group.verb("show")
def show(session: Session, app: AppArgument, version: VersionArgument, project: ProjectOption = None) -> None:
    """Show a version; with --output json, its whole manifest."""
    found = _find_version(session, app, version, project)
    print_version(session, session.client.app_versions.show(found.project_id, found.app_id, found.id))


@group.verb("trial")
def trial(session: Session, app: AppArgument, version: VersionArgument, project: ProjectOption = None) -> None:
    """Let your project, and nobody else, launch a draft before its artifacts are active."""
    found = _find_version(session, app, version, project)
    print_list(session, [session.client.app_versions.trial(found.project_id, found.app_id, found.id)], VERSIONS)


@group.verb("smoke")
def smoke(
    session: Session,
    app: AppArgument,
    version: VersionArgument,
    places: Annotated[
        list[str],
        typer.Option("--place", help="Allocations for a component, as COMPONENT=ALLOCATION[,…]; repeat for more."),
    ],
    file: Annotated[
        Path | None, typer.Option("--inputs", exists=True, dir_okay=False, help="A YAML or JSON file with the inputs.")
    ] = None,
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Launch a version on your allocations, wait until it is ready, and remove it: the platform does this by itself. The
    outcome becomes smoke evidence of its artifacts. The command fails if the smoke launch fails.
    """
    found = _find_version(session, app, version, project)
    where = (found.project_id, found.app_id, found.id)
    intent = placement_of(session, found.project_id, places)
    inputs = {} if file is None else read_inputs(file)
    started = session.client.app_versions.smoke(*where, intent, inputs=inputs)
    session.say(f"Launched as {started.instance.name}. Follow it: gpuaas operations follow {started.operation.id}")
    outcome = session.client.app_versions.wait_for_smoke(found, started, deadline)
    print_list(session, [outcome], EVIDENCE)
    if not outcome.passed:
        raise CommandFailed("smoke_failed", outcome.summary, "Read the operation's steps, and publish another version.")


@group.verb("activate")
def activate(session: Session, app: AppArgument, version: VersionArgument, project: ProjectOption = None) -> None:
    """Activate a draft, or promote a canary: new launches use it. Its artifact must be active."""
    found = _find_version(session, app, version, project)
    moved = session.client.app_versions.activate(found.project_id, found.app_id, found.id, generation=found.generation)
    print_list(session, [moved], VERSIONS)


@group.verb("canary")
def canary(
    session: Session,
    app: AppArgument,
    version: VersionArgument,
    percent: Annotated[int, typer.Argument(min=1, max=100, help="Percentage of projects that get it.")],
    project: ProjectOption = None,
) -> None:
    """Give a version to a percentage of projects, or change the percentage. `activate` promotes it to all."""
    found = _find_version(session, app, version, project)
    place = (found.project_id, found.app_id, found.id)
    moved = session.client.app_versions.canary(*place, percent, generation=found.generation)
    print_list(session, [moved], VERSIONS)


@group.verb("rollback")
def rollback(session: Session, app: AppArgument, reason: ReasonOption, project: ProjectOption = None) -> None:
    """Roll back the app's canary; without one, return to the version from before the last promotion."""
    where = project_id(session, project)
    moved = session.client.apps.rollback(where, app_id(session.client, where, app), reason)
    print_list(session, [moved], VERSIONS)


@group.verb("deprecate")
def deprecate(
    session: Session,
    app: AppArgument,
    version: VersionArgument,
    notice: Annotated[str, typer.Option("--notice", help="What users should do; it is shown to them.")],
    retire_at: Annotated[
        str | None, typer.Option("--retire-at", help="Earliest retirement: 30d, or a time such as 2030-01-31T12:00Z.")
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Deprecate a version. Nothing new can be launched from it; running instances continue and show the notice."""
    found = _find_version(session, app, version, project)
    place = (found.project_id, found.app_id, found.id)
    moved = session.client.app_versions.deprecate(
        *place, notice, retire_at=expiry(retire_at), generation=found.generation
    )
    print_list(session, [moved], VERSIONS)


@group.verb("retire")
def retire(
    session: Session,
    app: AppArgument,
    version: VersionArgument,
    reason: ReasonOption,
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """Retire a draft, or a deprecated version without instances. This cannot be undone."""
    found = _find_version(session, app, version, project)
    session.confirm(f"Retire {found.slug} {found.version} permanently?", yes)
    place = (found.project_id, found.app_id, found.id)
    moved = session.client.app_versions.retire(*place, reason, generation=found.generation)
    print_list(session, [moved], VERSIONS)
