"""What `artifacts` knows about the digest of a version, in the types of the catalogue."""

from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.catalog import machine
from gpuaas_server.catalog.machine import ArtifactFacts, Reason
from gpuaas_server.catalog.manifest import digests_of, file_digests
from gpuaas_server.catalog.rows import RegisteredVersion
from gpuaas_server.kernel.database import Connection


async def artifact_of(connection: Connection, project_id: str, digest: str) -> ArtifactFacts | None:
    """Return the publishing project's artifact: another project's artifact with the same bytes has its own stage."""
    state = (await artifacts.artifact_states(connection, [digest], project_id)).get(digest)
    kind = await artifacts.artifact_kind(connection, project_id, digest)
    return None if state is None or kind is None else ArtifactFacts(state.stage.value, state.revoked, kind)


async def activation_refusals(
    connection: Connection, version: RegisteredVersion, wanted: str = "active"
) -> list[Reason]:
    """List what any artifact of the version has against making it active, or a canary."""
    files = file_digests(version.manifest)
    found: list[Reason] = []
    for digest in digests_of(version.manifest):
        artifact = await artifact_of(connection, version.project_id, digest)
        found += machine.activation_refusals(digest, artifact, wanted, is_file=digest in files)
    return found


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
