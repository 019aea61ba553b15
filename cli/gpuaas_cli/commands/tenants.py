"""tenants: the customers of the platform."""

from pathlib import Path
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.exports import write_export
from gpuaas_cli.options import YesOption
from gpuaas_cli.output import Column, age, print_card, print_list, short_moment
from gpuaas_cli.references import tenant_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Tenant

group = CommandGroup("Tenants: the customers of the platform.")

TenantArgument = Annotated[str, typer.Argument(help="Tenant: id or slug.")]


def status_of(one: Tenant) -> str:
    if one.delete_after is not None:
        return "deleting"
    return "disabled" if one.disabled else "active"


COLUMNS: list[Column[Tenant]] = [
    Column("SLUG", lambda one: one.slug, whole=True),
    Column("NAME", lambda one: one.name),
    Column("STATUS", status_of, whole=True),
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
    name: Annotated[str | None, typer.Option("--name", help="Full name. Default: the slug.")] = None,
) -> None:
    """Create a tenant."""
    _print(session, session.client.tenants.create(slug, name or slug))


@group.verb("rename")
def rename(session: Session, tenant: TenantArgument, name: Annotated[str, typer.Argument()]) -> None:
    """Change a tenant's full name."""
    _print(session, session.client.tenants.update(tenant_id(session.client, tenant), name=name))


@group.verb("require-wipe")
def require_wipe(
    session: Session,
    tenant: TenantArgument,
    grade: Annotated[str, typer.Argument(help="The wipe grade: inspected (every wipe reaches it) or rebooted.")],
) -> None:
    """Set the minimum wipe grade for a tenant's whole nodes. It applies even if a SKU requires less."""
    _print(session, session.client.tenants.update(tenant_id(session.client, tenant), wipe_grade=grade))


@group.verb("disable")
def disable(session: Session, tenant: TenantArgument, yes: YesOption = False) -> None:
    """Disable a tenant. Its users can only read, and release or stop what runs."""
    session.confirm(f"Disable the tenant {tenant}?", yes)
    _print(session, session.client.tenants.update(tenant_id(session.client, tenant), disabled=True))


@group.verb("enable")
def enable(session: Session, tenant: TenantArgument) -> None:
    """Enable a disabled tenant."""
    _print(session, session.client.tenants.update(tenant_id(session.client, tenant), disabled=False))


@group.verb("delete")
def delete(session: Session, tenant: TenantArgument, yes: YesOption = False) -> None:
    """Delete an empty tenant and its records after a grace period. Until then, `undelete` restores it."""
    session.confirm(f"Delete the tenant {tenant} with everything in it?", yes)
    deleting = session.client.tenants.delete(tenant_id(session.client, tenant))
    _print(session, deleting)
    session.say(
        f"The tenant is removed after {short_moment(deleting.delete_after)}. Until then: gpuaas tenants undelete {tenant}."
    )


@group.verb("undelete")
def undelete(session: Session, tenant: TenantArgument) -> None:
    """Undo the deletion of a tenant before its date."""
    _print(session, session.client.tenants.undelete(tenant_id(session.client, tenant)))


@group.verb("export")
def export(
    session: Session,
    tenant: TenantArgument,
    target: Annotated[Path, typer.Argument(dir_okay=False, help="The file to write, as JSON lines.")],
) -> None:
    """Export all records of a tenant to a file, without secrets."""
    counts = write_export(session.client.tenants.export(tenant_id(session.client, tenant)), target)
    session.say(f"{target} has {sum(counts.values())} records of {len(counts)} kinds.")


def _print(session: Session, tenant: Tenant) -> None:
    print_card(
        session,
        tenant,
        [
            ("Slug", tenant.slug),
            ("Name", tenant.name),
            ("Status", status_of(tenant)),
            ("Deleted after", tenant.delete_after),
            ("Wipe", f"at least {tenant.wipe_grade}"),
            ("Created", tenant.created_at),
            ("Id", tenant.id),
        ],
    )
