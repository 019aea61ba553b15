"""tenants: the customers of the platform."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.options import YesOption
from gpuaas_cli.references import tenant_id
from gpuaas_cli.rendering import Column, age, print_card, print_list
from gpuaas_cli.session import Session
from gpuaas_sdk import Tenant

group = CommandGroup("Tenants: the customers of the platform.")

TenantArgument = Annotated[str, typer.Argument(help="Tenant: id or slug.")]
COLUMNS: list[Column[Tenant]] = [
    Column("SLUG", lambda one: one.slug, whole=True),
    Column("NAME", lambda one: one.name),
    Column("STATUS", lambda one: "disabled" if one.disabled else "active", whole=True),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]


@group.verb("list")
def list_(session: Session) -> None:
    """List the tenants that you can see."""
    print_list(session, session.client.tenants.list(), COLUMNS)


@group.verb("show")
def show(session: Session, tenant: TenantArgument) -> None:
    """Show one tenant."""
    _print(session, session.client.tenants.show(tenant_id(session.client, tenant)))


@group.verb("create")
def create(
    session: Session,
    slug: Annotated[str, typer.Argument(help="Short name for paths and commands: a-z, 0-9 and dashes.")],
    name: Annotated[str | None, typer.Option("--name", help="Full name; the slug when missing.")] = None,
) -> None:
    """Create a tenant."""
    _print(session, session.client.tenants.create(slug, name or slug))


@group.verb("rename")
def rename(session: Session, tenant: TenantArgument, name: Annotated[str, typer.Argument()]) -> None:
    """Give a tenant another full name."""
    _print(session, session.client.tenants.update(tenant_id(session.client, tenant), name=name))


@group.verb("disable")
def disable(session: Session, tenant: TenantArgument, yes: YesOption = False) -> None:
    """Disable a tenant: nobody of it can sign in any more."""
    session.confirm(f"Disable the tenant {tenant}?", yes)
    _print(session, session.client.tenants.update(tenant_id(session.client, tenant), disabled=True))


@group.verb("enable")
def enable(session: Session, tenant: TenantArgument) -> None:
    """Enable a disabled tenant."""
    _print(session, session.client.tenants.update(tenant_id(session.client, tenant), disabled=False))


def _print(session: Session, tenant: Tenant) -> None:
    print_card(
        session,
        tenant,
        [
            ("Slug", tenant.slug),
            ("Name", tenant.name),
            ("Status", "disabled" if tenant.disabled else "active"),
            ("Created", tenant.created_at),
            ("Id", tenant.id),
        ],
    )
