"""controllers: who does the work of apps: bindings of publishers, consents of tenants, and the replicas that are alive."""

from enum import StrEnum
from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import ProjectOption, TenantOption, YesOption
from gpuaas_cli.output import Column, age, print_list
from gpuaas_cli.references import home_tenant_id, project_id, service_account_id
from gpuaas_cli.session import Session
from gpuaas_sdk import (
    ControllerBinding,
    ControllerConsent,
    ControllerKindBinding,
    ControllerOffer,
    ControllerReplica,
)


class ArtifactKind(StrEnum):
    LAUNCHABLE = "launchable"
    OCI = "oci"


group = CommandGroup("Controllers: who does the work of apps, and for whom.")

SlugArgument = Annotated[str, typer.Argument(help="The app's slug.")]
PermissionOption = Annotated[
    list[str] | None,
    typer.Option("--permission", help="Allow only this; repeat for several. Default: all that are shown."),
]
InProjectOption = Annotated[
    list[str] | None,
    typer.Option("--in-project", help="Only in this project (id or TENANT/PROJECT); repeat. Default: all projects."),
]
BINDINGS: list[Column[ControllerBinding]] = [
    Column("APP", lambda one: one.app_slug, whole=True),
    Column("SERVICE ACCOUNT", lambda one: one.service_account_name),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]
KINDS: list[Column[ControllerKindBinding]] = [
    Column("KIND", lambda one: one.artifact_kind, whole=True),
    Column("SERVICE ACCOUNT", lambda one: one.service_account_name),
    Column("AGE", lambda one: age(one.created_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]
CONSENTS: list[Column[ControllerConsent]] = [
    Column("APP", lambda one: one.app_slug, whole=True),
    Column("MAY", lambda one: one.permissions),
    Column("IN PROJECTS", lambda one: one.project_ids or "all"),
    Column("GIVEN", lambda one: age(one.given_at), right=True, whole=True),
    Column("WITH", lambda one: one.given_with, whole=True),
    Column("WITHDRAWN", lambda one: one.withdrawn_at and age(one.withdrawn_at), right=True, whole=True),
    Column("ID", lambda one: one.id, whole=True),
]
OFFERS: list[Column[ControllerOffer]] = [
    Column("APP", lambda one: one.slug, whole=True),
    Column("SERVED BY", lambda one: one.service_accounts),
    Column("LIVE SINCE", lambda one: age(one.since) if one.since else "not running", whole=True),
    Column("CONSENT", lambda one: "given" if one.consent else "none", whole=True),
]
REPLICAS: list[Column[ControllerReplica]] = [
    Column("APP", lambda one: one.app_slug, whole=True),
    Column("SERVICE ACCOUNT", lambda one: one.service_account_name),
    Column("REPLICA", lambda one: one.replica),
    Column("VERSION", lambda one: one.version, whole=True),
    Column("STATUS", lambda one: "live" if one.live else "silent", whole=True),
    Column("SINCE", lambda one: age(one.since), right=True, whole=True),
    Column("LAST SEEN", lambda one: age(one.last_seen_at), right=True, whole=True),
]


@group.verb("replicas")
def replicas(session: Session, project: ProjectOption = None) -> None:
    """List the replicas of the project's controllers: version, start, and when each was last seen."""
    print_list(session, session.client.controller_replicas.list(project_id(session, project)), REPLICAS)


@group.verb("bindings")
def bindings(session: Session, project: ProjectOption = None) -> None:
    """List which service accounts of the project control its apps for other tenants."""
    print_list(session, session.client.controller_bindings.list(project_id(session, project)), BINDINGS)


@group.verb("bind")
def bind(
    session: Session,
    app: SlugArgument,
    account: Annotated[str, typer.Option("--service-account", help="Service account of the project: id or name.")],
    project: ProjectOption = None,
) -> None:
    """Let a service account control an app of the project for every tenant that consents."""
    where = project_id(session, project)
    found = service_account_id(session.client, where, account)
    print_list(session, [session.client.controller_bindings.create(where, app, found)], BINDINGS)


@group.verb("unbind")
def unbind(
    session: Session,
    binding: Annotated[str, typer.Argument(help="Binding id (cbd_…).")],
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """End a binding: its controller stops serving other tenants, and its leases there end."""
    where = project_id(session, project)
    session.confirm(f"End {binding} for all tenants that it serves?", yes)
    session.client.controller_bindings.delete(where, binding)
    session.say(f"{binding} has ended.")


@group.verb("kinds")
def kinds(session: Session, project: ProjectOption = None) -> None:
    """List the kinds of apps that service accounts of the platform's own project control."""
    print_list(session, session.client.controller_kind_bindings.list(project_id(session, project)), KINDS)


@group.verb("bind-kind")
def bind_kind(
    session: Session,
    kind: Annotated[ArtifactKind, typer.Argument(help="Kind of the apps' artifacts.")],
    account: Annotated[str, typer.Option("--service-account", help="Service account of the project: id or name.")],
    project: ProjectOption = None,
) -> None:
    """Let a service account of the platform's own project control every app of a kind that has no binding of its own."""
    where = project_id(session, project)
    found = service_account_id(session.client, where, account)
    print_list(session, [session.client.controller_kind_bindings.create(where, kind.value, found)], KINDS)


@group.verb("unbind-kind")
def unbind_kind(
    session: Session,
    binding: Annotated[str, typer.Argument(help="Kind binding id (ckb_…).")],
    yes: YesOption = False,
    project: ProjectOption = None,
) -> None:
    """End a kind binding: its controller stops serving these apps, and its leases there end."""
    where = project_id(session, project)
    session.confirm(f"End {binding} for all apps that it serves?", yes)
    session.client.controller_kind_bindings.delete(where, binding)
    session.say(f"{binding} has ended.")


@group.verb("offers")
def offers(session: Session, tenant: TenantOption = None) -> None:
    """List the apps whose publisher runs a controller for the tenant, and whether the tenant consents."""
    print_list(session, session.client.controller_offers.list(_tenant(session, tenant)), OFFERS)


@group.verb("consents")
def consents(session: Session, tenant: TenantOption = None) -> None:
    """List what the tenant consents to, and what it has withdrawn."""
    print_list(session, session.client.controller_consents.list(_tenant(session, tenant)), CONSENTS)


@group.verb("consent")
def consent(
    session: Session,
    app: SlugArgument,
    permission: PermissionOption = None,
    in_project: InProjectOption = None,
    tenant: TenantOption = None,
    yes: YesOption = False,
) -> None:
    """Let the controller of an app work in the tenant's projects. Shows first what it may do and where."""
    where = _tenant(session, tenant)
    offer = _offer(session, where, app)
    projects = [project_id(session, one) for one in in_project or ()] or None
    chosen = [one for one in offer.permissions if permission is None or one.name in permission]
    session.say(f"{offer.display_name} is served by {', '.join(offer.service_accounts)}. It may:")
    for one in chosen:
        session.say(f"  {one.name}: {one.description}")
    session.say(f"In {', '.join(in_project) if in_project else 'all projects of the tenant, later ones too'}.")
    session.say("You may withdraw this at any time; it then ends at once.")
    session.confirm(f"Consent to the controller of {app}?", yes)
    given = session.client.controller_consents.give(where, app, permissions=permission, project_ids=projects)
    print_list(session, [given], CONSENTS)


@group.verb("withdraw")
def withdraw(
    session: Session,
    app: SlugArgument,
    reason: Annotated[str | None, typer.Option("--reason", help="Why, for the audit trail.")] = None,
    tenant: TenantOption = None,
    yes: YesOption = False,
) -> None:
    """Withdraw the tenant's consent, effective at once: leases end, and access to machines is revoked."""
    where = _tenant(session, tenant)
    given = _offer(session, where, app).consent
    if given is None:
        raise CommandFailed(
            "not_found",
            f"The tenant does not consent to {app}.",
            "List the consents with `gpuaas controllers consents`.",
            ExitCode.NOT_FOUND,
        )
    session.confirm(
        f"Withdraw the consent to the controller of {app}? Operations in progress stop where they are.", yes
    )
    print_list(session, [session.client.controller_consents.withdraw(where, given.id, reason=reason)], CONSENTS)


def _offer(session: Session, tenant_id: str, app: str) -> ControllerOffer:
    found = list(session.client.controller_offers.list(tenant_id, app=app))
    if not found:
        step = "List those that have one: `gpuaas controllers offers`."
        raise CommandFailed("not_found", f"No controller is offered for {app}.", step, ExitCode.NOT_FOUND)
    return found[0]


def _tenant(session: Session, given: str | None) -> str:
    found = home_tenant_id(session.client, given)
    if found is None:
        raise CommandFailed("tenant_required", "The tenant is ambiguous.", "Name it with --tenant.", ExitCode.USAGE)
    return found
