"""quota: what a tenant or a project may use."""

from typing import Annotated

import typer

from gpuaas_cli.command_group import CommandGroup
from gpuaas_cli.failures import CommandFailed, ExitCode
from gpuaas_cli.options import ProjectOption
from gpuaas_cli.output import print_card
from gpuaas_cli.references import project_id, tenant_id
from gpuaas_cli.session import Session
from gpuaas_sdk import Quota

group = CommandGroup("Quota: what a project or, with --tenant, a tenant may use.")

TenantScope = Annotated[
    str | None, typer.Option("--tenant", "-t", help="The quota of this tenant instead of a project.")
]
Artifacts = Annotated[int | None, typer.Option("--artifacts", min=0, help="Maximum number of artifacts.")]
ArtifactBytes = Annotated[
    str | None,
    typer.Option("--artifact-bytes", help="Maximum bytes of artifacts: a number, optionally with K, M, G or T."),
]
UnprovenGpus = Annotated[
    int | None,
    typer.Option("--unproven-gpus", min=0, help="Maximum number of released GPUs that are not proven clean."),
]
Streams = Annotated[
    int | None,
    typer.Option(
        "--streams", min=1, help="Maximum number of open watches, long polls and terminals at one api process."
    ),
]
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@group.verb("show")
def show(session: Session, project: ProjectOption = None, tenant: TenantScope = None) -> None:
    """Show the limits and the usage."""
    _print(session, _read(session, project, tenant))


@group.verb("set")
def set_(
    session: Session,
    limit: Annotated[str | None, typer.Argument(help="A number of GPUs, or none.")] = None,
    project: ProjectOption = None,
    tenant: TenantScope = None,
    artifacts: Artifacts = None,
    artifact_bytes: ArtifactBytes = None,
    unproven_gpus: UnprovenGpus = None,
    streams: Streams = None,
) -> None:
    """Set limits. Limits that you do not name stay."""
    if all(one is None for one in (limit, artifacts, artifact_bytes, unproven_gpus, streams)):
        raise CommandFailed("usage", "No limit was given.", "Give one; see `gpuaas quota set --help`.", ExitCode.USAGE)
    gpus = _read(session, project, tenant).gpu_limit if limit is None else _gpus(limit)
    size = None if artifact_bytes is None else _bytes(artifact_bytes)
    client = session.client
    if tenant is not None:
        changed = client.quotas.set_tenant(
            tenant_id(client, tenant),
            gpus,
            artifact_limit=artifacts,
            artifact_byte_limit=size,
            unproven_gpu_limit=unproven_gpus,
            stream_limit=streams,
        )
    else:
        changed = client.quotas.set_project(
            project_id(session, project),
            gpus,
            artifact_limit=artifacts,
            artifact_byte_limit=size,
            unproven_gpu_limit=unproven_gpus,
            stream_limit=streams,
        )
    _print(session, changed)


def _read(session: Session, project: str | None, tenant: str | None) -> Quota:
    client = session.client
    if tenant is not None:
        return client.quotas.tenant(tenant_id(client, tenant))
    return client.quotas.project(project_id(session, project))


def _gpus(limit: str) -> int | None:
    if limit == "none":
        return None
    if not limit.isdigit():
        raise CommandFailed("usage", f"{limit} is not a limit.", "Give a number of GPUs, or none.", ExitCode.USAGE)
    return int(limit)


def _bytes(text: str) -> int:
    number, unit = (text[:-1], _UNITS[text[-1].upper()]) if text[-1:].upper() in _UNITS else (text, 1)
    if not number.isdigit():
        raise CommandFailed(
            "usage", f"{text} is not a number of bytes.", "Give a number, optionally with K, M, G or T.", ExitCode.USAGE
        )
    return int(number) * unit


def _print(session: Session, quota: Quota) -> None:
    rows = [
        ("GPUs", quota.gpus_used, quota.gpu_limit),
        ("Artifacts", quota.artifacts_used, quota.artifact_limit),
        ("Bytes of artifacts", quota.artifact_bytes_used, quota.artifact_byte_limit),
        ("GPUs not proven clean", quota.unproven_gpus, quota.unproven_gpu_limit),
    ]
    card = [(name, f"{used} of {'no limit' if most is None else most}") for name, used, most in rows]
    streams = ("Streams", f"at most {quota.stream_limit} at one api process")
    print_card(session, quota, [*card, streams, ("Of", quota.scope_id)])
