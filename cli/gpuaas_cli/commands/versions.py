"""versions: the life of an app's versions, for who publishes it."""

from typing import Annotated

import typer

from gpuaas_cli.catalog_views import VERSIONS, print_version
from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import ProjectOption, ReasonOption, YesOption, expiry
from gpuaas_cli.references import app_id, app_version, project_id
from gpuaas_cli.rendering import print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import AppVersion

group = CommandGroup("Versions of the apps that a project publishes.")

AppArgument = Annotated[str, typer.Argument(help="App: slug or id.")]
VersionArgument = Annotated[str, typer.Argument(help="Version, as in 1.2.0, or its id.")]


def _found(session: Session, app: str, version: str, project: str | None) -> AppVersion:
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
    found = _found(session, app, version, project)
    print_version(session, session.client.app_versions.show(found.project_id, found.app_id, found.id))


@group.verb("activate")
def activate(session: Session, app: AppArgument, version: VersionArgument, project: ProjectOption = None) -> None:
    """Offer a draft in the catalogue. Its artifact must be active."""
    found = _found(session, app, version, project)
    moved = session.client.app_versions.activate(found.project_id, found.app_id, found.id, generation=found.generation)
    print_list(session, [moved], VERSIONS)


@group.verb("deprecate")
def deprecate(
    session: Session,
    app: AppArgument,
    version: VersionArgument,
    notice: Annotated[str, typer.Option("--notice", help="What users should do; they see it.")],
    retire_at: Annotated[
        str | None, typer.Option("--retire-at", help="Not retired before: 30d, or a time like 2030-01-31T12:00Z.")
    ] = None,
    project: ProjectOption = None,
) -> None:
    """Take no new instances on a version. Those that run go on, and show the notice."""
    found = _found(session, app, version, project)
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
    """End a deprecated version that nobody runs, or a draft. It does not come back."""
    found = _found(session, app, version, project)
    session.confirm(f"Retire {found.slug} {found.version} for ever?", yes)
    place = (found.project_id, found.app_id, found.id)
    moved = session.client.app_versions.retire(*place, reason, generation=found.generation)
    print_list(session, [moved], VERSIONS)
