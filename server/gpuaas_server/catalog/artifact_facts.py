"""What `artifacts` knows about the digest of a version, in the types of the catalogue."""

from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.catalog.machine import ArtifactFacts, Reason
from gpuaas_server.kernel.database import Connection


async def artifact_of(connection: Connection, project_id: str, digest: str) -> ArtifactFacts | None:
    """Return the publishing project's artifact: another project's artifact with the same bytes has its own stage."""
    state = (await artifacts.artifact_states(connection, [digest], project_id)).get(digest)
    kind = await artifacts.artifact_kind(connection, project_id, digest)
    return None if state is None or kind is None else ArtifactFacts(state.stage.value, state.revoked, kind)


async def digest_refusals(
    connection: Connection,
    tenant_id: str,
    project_id: str,
    digest: str,
    publisher_project_id: str,
    returning: bool = False,
) -> list[Reason]:
    """List why this project may not launch from the digest: stage, canary, trust."""
    launch = (tenant_id, project_id, digest, publisher_project_id)
    refusals = await artifacts.launch_refusals(connection, *launch, returning)
    return [Reason(refusal.code, refusal.message) for refusal in refusals]
