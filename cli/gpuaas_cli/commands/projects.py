"""projects: create, list, disable, delete and export projects."""

from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.exports import write_export
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import TenantOption, YesOption
from gpuaas_cli.output import Column, age, print_card, print_list, short_moment
from gpuaas_cli.references import home_tenant_id, project_id, tenant_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Project

group = CommandGroup("Projects of a tenant; allocations belong to a project.")

ProjectArgument = Annotated[str, typer.Argument(help="Project: id, slug or tenant/slug.")]


def status_of(one: Project) -> str:
    if one.delete_after is not None:
        return "deleting"
    return "disabled" if one.disabled else "active"


COLUMNS: list[Column[Project]] = [
    Column("SLUG", lambda one: one.slug, whole=True),
    Column("NAME", lambda one: one.name),
    Column("STATUS", status_of, whole=True),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]


@group.verb("list")
def list_(session: Session, tenant: TenantOption = None) -> None:
    """List the projects that you can see, or those of one tenant."""
    client = session.client
    scope = tenant_id(client, tenant) if tenant else None
    print_list(session, client.projects.list(scope), COLUMNS)


@group.verb("show")
def show(session: Session, project: ProjectArgument) -> None:
    """Show one project."""
    _print(session, session.client.projects.show(project_id(session, project)))


@group.verb("create")
def create(
    session: Session,
    slug: Annotated[str, typer.Argument(help="Short name, unique in the tenant: a-z, 0-9 and dashes.")],
    name: Annotated[str | None, typer.Option("--name", help="Full name. Default: the slug.")] = None,
    tenant: TenantOption = None,
) -> None:
    """Create a project."""
    home = home_tenant_id(session.client, tenant)
    if home is None:
        raise CommandFailed("usage", "The tenant is ambiguous.", "Name it with --tenant.", ExitCode.USAGE)
    _print(session, session.client.projects.create(home, slug, name or slug))


@group.verb("rename")
def rename(session: Session, project: ProjectArgument, name: Annotated[str, typer.Argument()]) -> None:
    """Change a project's full name."""
    _print(session, session.client.projects.update(project_id(session, project), name=name))


@group.verb("disable")
def disable(session: Session, project: ProjectArgument, yes: YesOption = False) -> None:
    """Disable a project. It takes no new allocations."""
    session.confirm(f"Disable the project {project}?", yes)
    _print(session, session.client.projects.update(project_id(session, project), disabled=True))


@group.verb("enable")
def enable(session: Session, project: ProjectArgument) -> None:
    """Enable a disabled project."""
    _print(session, session.client.projects.update(project_id(session, project), disabled=False))


@group.verb("delete")
def delete(session: Session, project: ProjectArgument, yes: YesOption = False) -> None:
    """Delete an empty project and its records after a grace period. Until then, `undelete` restores it."""
    session.confirm(f"Delete the project {project} with everything in it?", yes)
    deleting = session.client.projects.delete(project_id(session, project))
    _print(session, deleting)
    session.say(
        f"The project is removed after {short_moment(deleting.delete_after)}. Until then: gpuaas projects undelete {project}."
    )


@group.verb("undelete")
def undelete(session: Session, project: ProjectArgument) -> None:
    """Undo the deletion of a project before its date."""
    _print(session, session.client.projects.undelete(project_id(session, project)))


@group.verb("export")
def export(
    session: Session,
    project: ProjectArgument,
    target: Annotated[Path, typer.Argument(dir_okay=False, help="The file to write, as JSON lines.")],
) -> None:
    """Export all records of a project to a file, without secrets."""
    counts = write_export(session.client.projects.export(project_id(session, project)), target)
    session.say(f"{target} has {sum(counts.values())} records of {len(counts)} kinds.")


def _print(session: Session, project: Project) -> None:
    print_card(
        session,
        project,
        [
            ("Slug", project.slug),
            ("Name", project.name),
            ("Status", status_of(project)),
            ("Deleted after", project.delete_after),
            ("Tenant", project.tenant_id),
            ("Created", project.created_at),
            ("Id", project.id),
        ],
    )
