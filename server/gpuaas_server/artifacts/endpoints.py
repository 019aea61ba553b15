"""Artifacts over HTTP."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.artifacts import (
    collection,
    content,
    deletion,
    evidence,
    intent_endpoints,
    registry_endpoints,
    service,
    trust_endpoints,
)
from gpuaas_server.artifacts.schemas import (
    Artifact,
    ArtifactCollection,
    ArtifactCollectionStart,
    ArtifactMove,
    ArtifactRevoke,
    ArtifactVerify,
    Digest,
    Evidence,
    EvidenceAdd,
    GarbageArtifact,
    StageName,
)
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import add_routes, api_router
from gpuaas_server.kernel.ids import ArtifactId, ProjectId

router = api_router(tags=["artifacts"])
add_routes(router, intent_endpoints.router)
_ARTIFACTS = "/projects/{project_id}/artifacts"
_GARBAGE = "/projects/{project_id}/artifact-garbage"
_CHANGE = problem_responses("conflict", "idempotency_mismatch", "idempotency_in_progress", "storage_unavailable")


@router.get(_ARTIFACTS, response_model=Page[Artifact], responses=problem_responses())
async def artifact_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("artifact_list")],
    page: PageQuery,
    stage: Annotated[StageName | None, Query(description="Only artifacts in this stage.")] = None,
    digest: Annotated[Digest | None, Query(description="Only artifacts with this digest.")] = None,
) -> Response:
    """List the artifacts of the project, newest first, in every stage. `stage` and `digest` filter."""
    caller, settings = call.caller, call.platform.settings
    return await call.read(lambda connection: service.artifact_list(connection, settings, stage, digest, page, caller))


@router.get(_ARTIFACTS + "/{artifact_id}", response_model=Artifact, responses=problem_responses())
async def artifact_show(
    project_id: ProjectId, artifact_id: ArtifactId, call: Annotated[Call, admitted("artifact_show")]
) -> Response:
    """Show an artifact: what it is, its stage, and whether it is trusted and why."""
    caller, settings = call.caller, call.platform.settings
    return await call.read(lambda connection: service.artifact_show(connection, settings, artifact_id, caller))


@router.get(
    _ARTIFACTS + "/{artifact_id}/content",
    response_class=Response,
    responses={
        200: content.BYTES,
        206: content.REST,
        307: content.ELSEWHERE,
        **problem_responses("artifact_revoked", "storage_unavailable"),
    },
)
async def artifact_content(
    project_id: ProjectId, artifact_id: ArtifactId, call: Annotated[Call, admitted("artifact_content")]
) -> Response:
    """Download a blob. Compare the bytes with the digest. `Range: bytes=N-` continues after N bytes."""
    async with call.platform.database.connection(call.admission.scope) as connection:
        key = await service.artifact_blob_key(connection, project_id, artifact_id)
    return content.content_response(call.platform.settings, key, call.request.headers.get("range"))


@router.get(_GARBAGE, response_model=Page[GarbageArtifact], responses=problem_responses())
async def artifact_garbage_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("artifact_garbage_list")],
    page: PageQuery,
) -> Response:
    """List what a collection would remove: artifacts that no app version and no instance refers to, with reason, time and
    bytes. Nothing is changed. Active, canary and revoked artifacts are never listed.
    """
    settings, now = call.platform.settings, call.platform.clock()
    return await call.read(
        lambda connection: collection.artifact_garbage_list(connection, settings, project_id, page, now)
    )


@router.post(_GARBAGE + "/collect", status_code=202, response_model=ArtifactCollection, responses=problem_responses())
async def artifact_garbage_collect(
    project_id: ProjectId,
    body: ArtifactCollectionStart,
    call: Annotated[Call, admitted_change("artifact_garbage_collect")],
) -> Response:
    """Delete artifacts that nothing refers to and whose grace period is over, with their bytes, permanently."""
    settings, tenant_id = call.platform.settings, call.caller.tenant_id
    return await call.change(
        lambda tx: collection.artifact_garbage_collect(tx, settings, tenant_id, project_id, body), status=202
    )


@router.post(
    _ARTIFACTS + "/{artifact_id}/evidence", status_code=201, response_model=Evidence, responses=problem_responses()
)
async def artifact_evidence_add(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    body: EvidenceAdd,
    call: Annotated[Call, admitted_change("artifact_evidence_add")],
) -> Response:
    """Record the result of your own lint or smoke test. It is shown as yours. `staged` needs the platform's own lint, a smoke
    test of yours or the platform's, and, where the tenant's trust policy requires it, a smoke launch by the platform.
    """
    return await call.change(lambda tx: evidence.artifact_evidence_add(tx, project_id, artifact_id, body), status=201)


@router.get(_ARTIFACTS + "/{artifact_id}/evidence", response_model=Page[Evidence], responses=problem_responses())
async def artifact_evidence_list(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    call: Annotated[Call, admitted("artifact_evidence_list")],
    page: PageQuery,
) -> Response:
    """List the results of lint and smoke runs of the artifact, newest first."""
    return await call.read(
        lambda connection: evidence.artifact_evidence_list(connection, project_id, artifact_id, page)
    )


@router.post(
    _ARTIFACTS + "/{artifact_id}/move",
    response_model=Artifact,
    responses=problem_responses("promotion_refused", "precondition_failed"),
)
async def artifact_move(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    body: ArtifactMove,
    call: Annotated[Call, admitted_change("artifact_move")],
) -> Response:
    """Move an artifact to the next stage, change the percentage of a canary, or move a canary back to staged."""
    caller, settings, match = call.caller, call.platform.settings, call.require_match
    return await call.change(lambda tx: service.artifact_move(tx, settings, artifact_id, body, caller, match))


@router.post(_ARTIFACTS + "/{artifact_id}/verify", response_model=Artifact, responses=_CHANGE)
async def artifact_verify(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    body: ArtifactVerify,
    call: Annotated[Call, admitted_change("artifact_verify")],
) -> Response:
    """Check bytes and signatures again. `checking` is true meanwhile; `trust` has the result."""
    caller, settings = call.caller, call.platform.settings
    return await call.change(lambda tx: service.artifact_verify(tx, settings, artifact_id, body, caller))


@router.post(_ARTIFACTS + "/{artifact_id}/revoke", response_model=Artifact, responses=_CHANGE)
async def artifact_revoke(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    body: ArtifactRevoke,
    call: Annotated[Call, admitted_change("artifact_revoke")],
) -> Response:
    """Revoke an artifact: new launches are refused and running instances are flagged. It cannot be undone; publish a new
    artifact.
    """
    caller, settings = call.caller, call.platform.settings
    return await call.change(lambda tx: service.artifact_revoke(tx, settings, artifact_id, body.reason, caller))


@router.delete(
    _ARTIFACTS + "/{artifact_id}",
    status_code=202,
    response_model=Artifact,
    responses=problem_responses("artifact_in_use"),
)
async def artifact_delete(
    project_id: ProjectId, artifact_id: ArtifactId, call: Annotated[Call, admitted_change("artifact_delete")]
) -> Response:
    """Delete the artifact with its bytes, permanently. This is refused while an app version or an instance refers to it. The
    artifact is listed as `deleting` until its bytes are removed; then its quota is free again.
    """
    caller, settings = call.caller, call.platform.settings
    return await call.change(lambda tx: deletion.artifact_delete(tx, settings, artifact_id, caller), status=202)


add_routes(router, trust_endpoints.router, registry_endpoints.router)
