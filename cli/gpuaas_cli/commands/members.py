"""members: who has which role in a project or a tenant."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import ProjectOption, YesOption
from gpuaas_cli.output import Column, age, print_card, print_list
from gpuaas_cli.references import is_id, only_one, project_id, tenant_id, user_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Member

group = CommandGroup("Roles of users in a project (default) or, with --tenant, in a tenant.")

UserArgument = Annotated[str, typer.Argument(help="User: id or e-mail address.")]
TenantScope = Annotated[str | None, typer.Option("--tenant", "-t", help="Roles in this tenant instead of a project.")]
COLUMNS: list[Column[Member]] = [
    Column("EMAIL", lambda one: one.email),
    Column("NAME", lambda one: one.name),
    Column("ROLE", lambda one: one.role, whole=True),
    Column("STATUS", lambda one: "disabled" if one.disabled else "active", whole=True),
    Column("SINCE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]


class Role(StrEnum):
    TENANT_ADMIN = "tenant_admin"
    PROJECT_ADMIN = "project_admin"
    PROJECT_MEMBER = "project_member"
    PROJECT_VIEWER = "project_viewer"


@group.verb("list")
def list_(session: Session, project: ProjectOption = None, tenant: TenantScope = None) -> None:
    """List the members and their roles."""
    client = session.client
    if tenant is not None:
        print_list(session, client.tenants.members(tenant_id(client, tenant)), COLUMNS)
    else:
        print_list(session, client.projects.members(project_id(session, project)), COLUMNS)


@group.verb("set")
def set_(
    session: Session,
    user: UserArgument,
    role: Annotated[Role, typer.Argument(help="The role; tenant_admin needs --tenant.")],
    project: ProjectOption = None,
    tenant: TenantScope = None,
) -> None:
    """Give a user a role; it replaces the user's previous role."""
    client = session.client
    if (role is Role.TENANT_ADMIN) != (tenant is not None):
        raise CommandFailed(
            "usage",
            f"{role} is not a role there.",
            "Use tenant_admin with --tenant, and the other roles without it.",
            ExitCode.USAGE,
        )
    if tenant is not None:
        scope = tenant_id(client, tenant)
        member = client.tenants.set_member(scope, user_id(client, scope, user), role)
    else:
        where = project_id(session, project)
        home = None if is_id("usr", user) else client.projects.show(where).tenant_id
        member = client.projects.set_member(where, user_id(client, home, user), role)
    print_card(session, member, [("User", member.email or member.id), ("Role", member.role)])


@group.verb("remove")
def remove(
    session: Session,
    user: UserArgument,
    project: ProjectOption = None,
    tenant: TenantScope = None,
    yes: YesOption = False,
) -> None:
    """Remove a user's role."""
    session.confirm(f"Remove the role of {user}?", yes)
    client = session.client
    if tenant is not None:
        scope = tenant_id(client, tenant)
        found = user if is_id("usr", user) else _member_id(user, list(client.tenants.members(scope)))
        client.tenants.remove_member(scope, found)
    else:
        where = project_id(session, project)
        found = user if is_id("usr", user) else _member_id(user, list(client.projects.members(where)))
        client.projects.remove_member(where, found)
    session.say(f"{user} no longer has a role there.")


def _member_id(email: str, members: list[Member]) -> str:
    return only_one("member", email.lower(), members, lambda one: (one.email,)).id
