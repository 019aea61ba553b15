"""What the room of artifacts knows about the digest of a version, in the words of this room."""

from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.catalog.machine import ArtifactFacts, Reason
from gpuaas_server.kernel.database import Connection


async def artifact_of(connection: Connection, project_id: str, digest: str) -> ArtifactFacts | None:
    """The publishing project's own: another project's artifact with the same bytes has its own stage."""
    state = (await artifacts.artifact_states(connection, [digest], project_id)).get(digest)
    return None if state is None else ArtifactFacts(state.stage.value, state.revoked)


async def against_digest(
    connection: Connection, tenant_id: str, project_id: str, digest: str, publisher_project_id: str
) -> list[Reason]:
    """Why this project may not launch from the digest: stage, canary, trust."""
    refusals = await artifacts.launch_refusals(connection, tenant_id, project_id, digest, publisher_project_id)
    return [Reason(refusal.code, refusal.message) for refusal in refusals]
