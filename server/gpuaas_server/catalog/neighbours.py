"""What this room asks of artifacts and instances: imported where it is used, since they import this room too."""

from gpuaas_server.catalog.machine import ArtifactFacts, Reason
from gpuaas_server.kernel.database import Connection


async def artifact_of(connection: Connection, project_id: str, digest: str) -> ArtifactFacts | None:
    """The publishing project's own: another project's artifact with the same bytes has its own stage."""
    from gpuaas_server.artifacts import service as artifacts

    state = (await artifacts.artifact_states(connection, [digest], project_id)).get(digest)
    return None if state is None else ArtifactFacts(state.stage.value, state.revoked)


async def against_digest(
    connection: Connection, tenant_id: str, project_id: str, digest: str, publisher_project_id: str
) -> list[Reason]:
    """Why this project may not launch from the digest: stage, canary, trust."""
    from gpuaas_server.artifacts import service as artifacts

    refusals = await artifacts.launch_refusals(connection, tenant_id, project_id, digest, publisher_project_id)
    return [Reason(refusal.code, refusal.message) for refusal in refusals]


async def live_instances(connection: Connection, version_id: str) -> int:
    """How many instances of this version there are, of all tenants."""
    from gpuaas_server.instances import service as instances

    return await instances.live_on_version(connection, version_id)
