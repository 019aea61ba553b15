"""quota: how many GPUs a tenant or a project may hold."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import ProjectOption
from gpuaas_cli.references import project_id, tenant_id
from gpuaas_cli.rendering import print_card
from gpuaas_cli.session import Session
from gpuaas_sdk import Quota

group = CommandGroup("Quota: how many GPUs a project or, with --tenant, a tenant may hold.")

TenantScope = Annotated[str | None, typer.Option("--tenant", "-t", help="The quota of this tenant instead.")]


@group.verb("show")
def show(session: Session, project: ProjectOption = None, tenant: TenantScope = None) -> None:
    """Show the limit and what is used."""
    client = session.client
    if tenant is not None:
        _print(session, client.quotas.tenant(tenant_id(client, tenant)))
    else:
        _print(session, client.quotas.project(project_id(session, project)))


@group.verb("set")
def set_(
    session: Session,
    limit: Annotated[str, typer.Argument(help="A number of GPUs, or none.")],
    project: ProjectOption = None,
    tenant: TenantScope = None,
) -> None:
    """Set the limit."""
    client, gpus = session.client, _gpus(limit)
    if tenant is not None:
        _print(session, client.quotas.set_tenant(tenant_id(client, tenant), gpus))
    else:
        _print(session, client.quotas.set_project(project_id(session, project), gpus))


def _gpus(limit: str) -> int | None:
    if limit == "none":
        return None
    if not limit.isdigit():
        raise CommandFailed("usage", f"{limit} is not a limit.", "Give a number of GPUs, or none.", ExitCode.USAGE)
    return int(limit)


def _print(session: Session, quota: Quota) -> None:
    limit = "none" if quota.gpu_limit is None else str(quota.gpu_limit)
    print_card(session, quota, [("GPUs used", str(quota.gpus_used)), ("GPU limit", limit), ("Of", quota.scope_id)])
