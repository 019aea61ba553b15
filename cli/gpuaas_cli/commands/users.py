"""users: people of a tenant or of the platform."""

import sys
from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import TenantOption, YesOption
from gpuaas_cli.output import Column, age, print_card, print_list
from gpuaas_cli.references import home_tenant_id, user_id
from gpuaas_cli.session import Session
from gpuaas_sdk import User, UserWithPassword

group = CommandGroup("Users of your tenant, of another tenant (--tenant), or of the platform if you belong to none.")

UserArgument = Annotated[str, typer.Argument(help="User: id or e-mail address.")]
COLUMNS: list[Column[User]] = [
    Column("EMAIL", lambda one: one.email),
    Column("NAME", lambda one: one.name),
    Column("ROLES", lambda one: sorted({role.role for role in one.roles})),
    Column("STATUS", lambda one: "disabled" if one.disabled else "active", whole=True),
    Column("SEEN", lambda one: age(one.last_sign_in_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]


class PlatformRole(StrEnum):
    ADMIN = "platform_admin"
    OPERATOR = "platform_operator"


@group.verb("list")
def list_(session: Session, tenant: TenantOption = None) -> None:
    """List users."""
    print_list(session, session.client.users.list(home_tenant_id(session.client, tenant)), COLUMNS)


@group.verb("show")
def show(session: Session, user: UserArgument, tenant: TenantOption = None) -> None:
    """Show one user."""
    home = home_tenant_id(session.client, tenant)
    _print(session, session.client.users.show(home, user_id(session.client, home, user)))


@group.verb("create")
def create(
    session: Session,
    email: Annotated[str, typer.Argument(help="E-mail address, used to sign in.")],
    name: Annotated[str | None, typer.Option("--name", help="Full name. Default: the e-mail address.")] = None,
    tenant: TenantOption = None,
    password_stdin: Annotated[
        bool, typer.Option("--password-stdin", help="Read the password from standard input.")
    ] = False,
) -> None:
    """Create a user. Without a password, a random one is created and shown only once."""
    password = sys.stdin.readline().rstrip("\r\n") if password_stdin else None
    home = home_tenant_id(session.client, tenant)
    _print(session, session.client.users.create(home, email, name or email, password=password))


@group.verb("disable")
def disable(session: Session, user: UserArgument, tenant: TenantOption = None, yes: YesOption = False) -> None:
    """Disable a user. All sign-ins end."""
    session.confirm(f"Disable the user {user}?", yes)
    _update(session, user, tenant, disabled=True)


@group.verb("enable")
def enable(session: Session, user: UserArgument, tenant: TenantOption = None) -> None:
    """Enable a disabled user."""
    _update(session, user, tenant, disabled=False)


@group.verb("delete")
def delete(session: Session, user: UserArgument, tenant: TenantOption = None, yes: YesOption = False) -> None:
    """Delete a user permanently. Name and address are removed and all access ends; the audit trail keeps the id."""
    session.confirm(f"Delete the user {user} permanently?", yes)
    home = home_tenant_id(session.client, tenant)
    session.client.users.delete(home, user_id(session.client, home, user))
    session.say(f"{user} is deleted.")


@group.verb("unlock")
def unlock(session: Session, user: UserArgument, tenant: TenantOption = None) -> None:
    """Remove the lockouts of a user after wrong passwords, from all networks."""
    home = home_tenant_id(session.client, tenant)
    _print(session, session.client.users.unlock(home, user_id(session.client, home, user)))


@group.verb("reset-password")
def reset_password(session: Session, user: UserArgument, tenant: TenantOption = None, yes: YesOption = False) -> None:
    """Create a new password and show it only once. All sign-ins end."""
    session.confirm(f"Reset the password of {user}?", yes)
    _update(session, user, tenant, reset_password=True)


@group.verb("set-platform-role")
def set_platform_role(session: Session, user: UserArgument, role: Annotated[PlatformRole, typer.Argument()]) -> None:
    """Give a user of the platform a role."""
    found = user_id(session.client, None, user)
    session.client.users.set_platform_role(found, role)
    _print(session, session.client.users.show(None, found))


@group.verb("remove-platform-role")
def remove_platform_role(session: Session, user: UserArgument, yes: YesOption = False) -> None:
    """Remove the platform role of a user."""
    session.confirm(f"Remove the platform role of {user}?", yes)
    found = user_id(session.client, None, user)
    session.client.users.remove_platform_role(found)
    _print(session, session.client.users.show(None, found))


def _update(
    session: Session,
    user: str,
    tenant: str | None,
    *,
    disabled: bool | None = None,
    reset_password: bool | None = None,
) -> None:
    home = home_tenant_id(session.client, tenant)
    found = user_id(session.client, home, user)
    changed = session.client.users.update(home, found, disabled=disabled, reset_password=reset_password)
    _print(session, changed)


def _print(session: Session, user: User) -> None:
    password = user.initial_password if isinstance(user, UserWithPassword) else None
    print_card(
        session,
        user,
        [
            ("E-mail", user.email),
            ("Name", user.name),
            (
                "Roles",
                "\n".join(f"{role.role} {role.project_id or role.tenant_id or ''}" for role in user.roles),
            ),
            ("Status", "disabled" if user.disabled else "active"),
            ("Tenant", user.tenant_id),
            ("Last sign-in", user.last_sign_in_at),
            ("Created", user.created_at),
            ("Id", user.id),
            ("Password", password),
        ],
    )
    if password:
        session.say("The password is shown only once.")
