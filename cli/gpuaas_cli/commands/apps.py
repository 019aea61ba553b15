"""apps: what can be launched, what a project publishes, and who can see it."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.app_publication import Publication, publish_app
from gpuaas_cli.app_skeleton import write_skeleton
from gpuaas_cli.catalog_views import (
    APPS,
    CATALOG,
    ENTITLEMENTS,
    PLACEMENTS,
    PROVIDED,
    VERSIONS,
    format_faults,
    print_app,
)
from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import DeadlineOption, ProjectOption, ReasonOption, TenantOption, YesOption
from gpuaas_cli.output import print_card, print_list
from gpuaas_cli.references import app_id, home_tenant_id, project_id, tenant_id
from gpuaas_cli.session import Session
from gpuaas_sdk import InvalidRequest

group = CommandGroup("Apps: what can be launched, and what a project publishes.")

SlugArgument = Annotated[str, typer.Argument(help="The app's slug.")]
AppArgument = Annotated[str, typer.Argument(help="App: slug or id.")]
TenantArgument = Annotated[str, typer.Argument(help="Tenant: id or slug.")]


class Channel(StrEnum):
    AUTOMATIC = "automatic"
    STABLE = "stable"
    CANARY = "canary"


class Visibility(StrEnum):
    PRIVATE = "private"
    ENTITLED = "entitled"
    PUBLIC = "public"


@group.verb("list")
def list_(
    session: Session,
    search: Annotated[str | None, typer.Option("--search", "-s", help="Words to search for.")] = None,
    published: Annotated[bool, typer.Option("--published", help="Only apps that the project publishes.")] = False,
    platform: Annotated[bool, typer.Option("--platform", help="All apps of the platform; for operators.")] = False,
    project: ProjectOption = None,
) -> None:
    """List the apps that the project may launch."""
    client = session.client
    if platform:
        print_list(session, client.apps.list(None), APPS)
    elif published:
        print_list(session, client.apps.list(project_id(session, project)), APPS)
    else:
        print_list(session, client.catalog.list(project_id(session, project), search=search), CATALOG)


@group.verb("show")
def show(
    session: Session,
    app: SlugArgument,
    version: Annotated[str | None, typer.Option("--version", help="Default: the newest active version.")] = None,
    project: ProjectOption = None,
) -> None:
    """Show an app: versions, components, inputs and requirements. With --output json, the whole manifest."""
    print_app(session, session.client.catalog.show(project_id(session, project), app, version=version))


@group.verb("provided")
def provided(session: Session, project: ProjectOption = None) -> None:
    """List the platform's own apps: which are provided, which are being prepared, and which are not. Operators see why."""
    print_list(session, session.client.provided_apps.list(project_id(session, project)), PROVIDED)


@group.verb("channel")
def channel(
    session: Session,
    app: SlugArgument,
    channel: Annotated[Channel, typer.Argument(help="automatic: the canary's percentage decides.")],
    project: ProjectOption = None,
) -> None:
    """Choose which versions of an app the project gets: stable, canary, or automatic by the canary's percentage."""
    chosen = session.client.catalog.set_channel(project_id(session, project), app, channel.value)
    fields = [
        ("App", chosen.slug),
        ("Channel", chosen.channel),
        ("Chosen", chosen.pinned),
        ("Launches take", chosen.latest),
    ]
    print_card(session, chosen, fields)


@group.verb("placements")
def placements(
    session: Session,
    app: SlugArgument,
    version: Annotated[str | None, typer.Option("--version", help="Default: the newest active version.")] = None,
    project: ProjectOption = None,
) -> None:
    """Show which allocations can run the app, and for each component every reason why not."""
    found = session.client.placements.list(project_id(session, project), app=app, version=version)
    print_list(session, found, PLACEMENTS)


@group.verb("register")
def register(
    session: Session,
    file: Annotated[Path, typer.Option("--file", "-f", help="The manifest, YAML or JSON.")],
    project: ProjectOption = None,
) -> None:
    """Register a version from its manifest, as a draft. Faults are printed as FILE:LINE:COLUMN."""
    where = project_id(session, project)
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise CommandFailed(
            "unreadable_file", f"{file} cannot be read: {why}.", "Check the path.", ExitCode.USAGE
        ) from error
    try:
        made = session.client.app_versions.register(where, text)
    except InvalidRequest as error:
        raise error if session.as_json else format_faults(error, str(file)) from error
    print_list(session, [made], VERSIONS)


@group.verb("init")
def init(
    session: Session,
    name: Annotated[str, typer.Argument(help="The app's slug.")],
    folder: Annotated[Path | None, typer.Option("--folder", help="Folder to write. Default: one of that name.")] = None,
) -> None:
    """Write a new app: a controller, a manifest, a program and tests that pass as they are."""
    target = folder or Path(name)
    for path in write_skeleton(name, target):
        session.say(str(path))
    session.say(f"Read {target}/README.md next.")


@group.verb("publish")
def publish(
    session: Session,
    folder: Annotated[Path, typer.Argument(exists=True, file_okay=False, help="The folder with manifest.yaml.")],
    reason: ReasonOption,
    artifact: Annotated[
        Path | None, typer.Option("--artifact", help="File or folder to publish. Default: FOLDER/program.")
    ] = None,
    key: Annotated[
        Path | None, typer.Option("--key", exists=True, dir_okay=False, help="Sign with this ECDSA private key (PEM).")
    ] = None,
    lint: Annotated[str, typer.Option("--lint", help="Lint command, run in FOLDER.")] = "ruff check .",
    smoke: Annotated[str, typer.Option("--smoke", help="Smoke test command, run in FOLDER.")] = "pytest -q",
    footprint: Annotated[
        str, typer.Option("--footprint", help="Command that prints what replaces {footprint}, run in FOLDER.")
    ] = "python3 footprint.py",
    deadline: DeadlineOption = 3600,
    project: ProjectOption = None,
) -> None:
    """Publish a version of an app: check, register, upload, sign, add evidence, promote and activate. Safe to repeat."""
    checks = {"lint": lint, "smoke": smoke}
    wanted = Publication(folder, artifact or folder / "program", reason, checks, footprint, key, deadline)
    print_list(session, [publish_app(session, project_id(session, project), wanted)], VERSIONS)


@group.verb("visibility")
def visibility(
    session: Session,
    app: AppArgument,
    visibility: Annotated[Visibility, typer.Argument(help="Who can see the app besides its tenant.")],
    reason: ReasonOption,
) -> None:
    """Set who can see an app: its tenant, entitled tenants, or everyone. For platform administrators."""
    found = app_id(session.client, None, app)
    print_list(session, [session.client.apps.set_visibility(found, visibility.value, reason)], APPS)


@group.verb("entitlements")
def entitlements(
    session: Session,
    app: Annotated[
        str | None, typer.Option("--app", help="List the tenants that are entitled to this app; for operators.")
    ] = None,
    tenant: TenantOption = None,
) -> None:
    """List the apps that a tenant is entitled to, or the tenants that are entitled to an app."""
    if app is not None:
        found = app_id(session.client, None, app)
        print_list(session, session.client.apps.entitlements(found), ENTITLEMENTS)
        return
    print_list(session, session.client.entitlements.list(_tenant(session, tenant)), ENTITLEMENTS)


@group.verb("entitle")
def entitle(
    session: Session,
    app: SlugArgument,
    tenant: TenantArgument,
    consent: Annotated[
        bool,
        typer.Option(
            "--consent", help="Also consent, for the tenant, to the platform's controller. The tenant can withdraw it."
        ),
    ] = False,
) -> None:
    """Let a tenant see an app whose visibility is `entitled`."""
    wanted = "default" if consent else None
    made = session.client.entitlements.grant(tenant_id(session.client, tenant), app, consent=wanted)
    print_list(session, [made], ENTITLEMENTS)


@group.verb("disentitle")
def disentitle(session: Session, app: SlugArgument, tenant: TenantArgument, yes: YesOption = False) -> None:
    """Remove an app from a tenant's catalogue. Its running instances continue."""
    where = tenant_id(session.client, tenant)
    found = [one for one in session.client.entitlements.list(where) if app in (one.slug, one.app_id)]
    if not found:
        raise CommandFailed(
            "not_found",
            f"The tenant is not entitled to {app}.",
            "List its entitlements with `gpuaas apps entitlements`.",
            ExitCode.NOT_FOUND,
        )
    session.confirm(f"Remove {app} from the catalogue of {tenant}?", yes)
    session.client.entitlements.revoke(where, found[0].id)
    session.say(f"{tenant} no longer sees {app}.")


def _tenant(session: Session, given: str | None) -> str:
    found = home_tenant_id(session.client, given)
    if found is None:
        raise CommandFailed("tenant_required", "The tenant is ambiguous.", "Name it with --tenant.", ExitCode.USAGE)
    return found
