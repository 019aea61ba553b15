"""Tells what `artifacts` knows about the digest of a version, in the types of the catalogue."""

from collections.abc import Sequence

from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.catalog import machine
from gpuaas_server.catalog.machine import ArtifactFacts, Reason
from gpuaas_server.catalog.manifest import digests_of, file_digests
from gpuaas_server.catalog.rows import RegisteredVersion
from gpuaas_server.kernel.database import Connection


async def artifacts_of(connection: Connection, project_id: str, digests: Sequence[str]) -> dict[str, ArtifactFacts]:
    """Return the publishing project's artifacts: another project's artifact with the same bytes has its own stage."""
    states = await artifacts.artifact_states(connection, digests, project_id)
    kinds = await artifacts.artifact_kinds(connection, project_id, digests)
    both = [(digest, states[digest], kinds[digest]) for digest in digests if digest in states and digest in kinds]
    return {digest: ArtifactFacts(state.stage.value, state.revoked, kind) for digest, state, kind in both}


async def activation_refusals(
    connection: Connection, version: RegisteredVersion, wanted: str = "active"
) -> list[Reason]:
    """List what any artifact of the version has against making it active, or a canary."""
    files, digests = file_digests(version.manifest), list(digests_of(version.manifest))
    known = await artifacts_of(connection, version.project_id, digests)
    return [
        reason
        for digest in digests
        for reason in machine.activation_refusals(digest, known.get(digest), wanted, is_file=digest in files)
    ]


async def digest_refusals(
    connection: Connection,
    tenant_id: str,
    project_id: str,
    digest: str,
    publisher_project_id: str,
    returning: bool = False,
    trial: bool = False,
) -> list[Reason]:
    """List why this project may not launch from the digest: stage, canary, trust."""
    launch = (tenant_id, project_id, digest, publisher_project_id)
    refusals = await artifacts.launch_refusals(connection, *launch, returning, trial)
    return [Reason(refusal.code, refusal.message) for refusal in refusals]
