"""projects: where allocations live."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import TenantOption, YesOption
from gpuaas_cli.references import home_tenant_id, project_id, tenant_id
from gpuaas_cli.rendering import Column, age, print_card, print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import Project

group = CommandGroup("Projects of a tenant: where allocations live.")

ProjectArgument = Annotated[str, typer.Argument(help="Project: id, slug or tenant/slug.")]
COLUMNS: list[Column[Project]] = [
    Column("SLUG", lambda one: one.slug, whole=True),
    Column("NAME", lambda one: one.name),
    Column("STATUS", lambda one: "disabled" if one.disabled else "active", whole=True),
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
    name: Annotated[str | None, typer.Option("--name", help="Full name; the slug when missing.")] = None,
    tenant: TenantOption = None,
) -> None:
    """Create a project."""
    home = home_tenant_id(session.client, tenant)
    if home is None:
        raise CommandFailed("usage", "It is not clear which tenant is meant.", "Name it: --tenant.", ExitCode.USAGE)
    _print(session, session.client.projects.create(home, slug, name or slug))


@group.verb("rename")
def rename(session: Session, project: ProjectArgument, name: Annotated[str, typer.Argument()]) -> None:
    """Give a project another full name."""
    _print(session, session.client.projects.update(project_id(session, project), name=name))


@group.verb("disable")
def disable(session: Session, project: ProjectArgument, yes: YesOption = False) -> None:
    """Disable a project: it takes no new allocations."""
    session.confirm(f"Disable the project {project}?", yes)
    _print(session, session.client.projects.update(project_id(session, project), disabled=True))


@group.verb("enable")
def enable(session: Session, project: ProjectArgument) -> None:
    """Enable a disabled project."""
    _print(session, session.client.projects.update(project_id(session, project), disabled=False))


def _print(session: Session, project: Project) -> None:
    print_card(
        session,
        project,
        [
            ("Slug", project.slug),
            ("Name", project.name),
            ("Status", "disabled" if project.disabled else "active"),
            ("Tenant", project.tenant_id),
            ("Created", project.created_at),
            ("Id", project.id),
        ],
    )
