"""Artifacts and publish intents over HTTP."""

import re
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gpuaas_server.artifacts import (
    backends,
    content,
    deletion,
    publish_intents,
    registry_endpoints,
    service,
    trust_endpoints,
)
from gpuaas_server.artifacts.schemas import (
    Artifact,
    ArtifactMove,
    ArtifactRevoke,
    ArtifactVerify,
    Digest,
    Evidence,
    EvidenceAdd,
    PublishIntent,
    PublishIntentComplete,
    PublishIntentCreate,
    StageName,
    UploadedContent,
)
from gpuaas_server.artifacts.stores import DirectoryStore, in_chunks
from gpuaas_server.artifacts.uploads import Upload, paced
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change, reply
from gpuaas_server.kernel.http.pages import Page, PageAfter, PageLimit
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.ids import ArtifactId, ProjectId, PublishIntentId

router = APIRouter(tags=["artifacts"])
_INTENTS = "/projects/{project_id}/publish-intents"
_ARTIFACTS = "/projects/{project_id}/artifacts"
_CHANGE = problem_responses("conflict", "idempotency_mismatch", "idempotency_in_progress", "storage_unavailable")
OCTETS = "application/octet-stream"
_TAKES_BYTES = re.compile(r"/api/v1/projects/[^/]+/publish-intents/[^/]+/content")


def takes_bytes(method: str, path: str) -> bool:
    """Whether the body is a blob on its way to the store, which has its own limit."""
    return method == "PUT" and _TAKES_BYTES.fullmatch(path) is not None


@router.post(
    _INTENTS,
    status_code=201,
    response_model=PublishIntent,
    responses=problem_responses("registry_not_configured", "storage_unavailable", "quota_exceeded"),
)
async def publish_intent_create(
    project_id: ProjectId,
    body: PublishIntentCreate,
    call: Annotated[Call, admitted_change("publish_intent_create")],
) -> Response:
    """Announce an artifact to publish. The answer says where to send its bytes; complete the intent when they are there."""
    tenant_id, caller, settings = call.caller.tenant_id, call.caller, call.platform.settings
    return await call.change(
        lambda tx: publish_intents.publish_intent_create(tx, settings, tenant_id, project_id, body, caller), status=201
    )


@router.get(_INTENTS, response_model=Page[PublishIntent], responses=problem_responses())
async def publish_intent_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("publish_intent_list")],
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """List the publish intents of the project, newest first. Ended intents are deleted after a while."""
    caller, settings = call.caller, call.platform.settings
    return await call.read(
        lambda connection: publish_intents.publish_intent_list(connection, settings, project_id, after, limit, caller)
    )


@router.get(
    _INTENTS + "/{publish_intent_id}",
    response_model=PublishIntent,
    responses=problem_responses("storage_unavailable"),
)
async def publish_intent_show(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    call: Annotated[Call, admitted("publish_intent_show")],
) -> Response:
    """Show a publish intent. While it is open, the answer says where to send the bytes, with a fresh ticket for publishers."""
    caller, settings, now = call.caller, call.platform.settings, call.platform.clock().timestamp()
    return await call.read(
        lambda connection: publish_intents.publish_intent_show(
            connection, settings, project_id, publish_intent_id, caller, now
        )
    )


@router.put(
    _INTENTS + "/{publish_intent_id}/content",
    response_model=UploadedContent,
    responses=problem_responses(
        "unsupported_media_type", "storage_unavailable", "quota_exceeded", "upload_in_progress", "too_many_uploads"
    ),
    openapi_extra={"requestBody": {"required": True, **content.BYTES}},
)
async def publish_intent_upload(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    request: Request,
    call: Annotated[Call, admitted("publish_intent_upload")],
) -> Response:
    """Upload a blob, where the platform keeps blobs in its own directory. A repetition replaces the bytes; a second upload is
    refused while the first is under way.
    """
    platform = call.platform
    if request.headers.get("content-type", "").partition(";")[0] != OCTETS:
        raise Problem("unsupported_media_type", f"The bytes of a blob are sent as {OCTETS}.")
    if not isinstance(backends.blob_store(platform.settings), DirectoryStore):
        raise Problem("conflict", "Blobs are in a bucket here: send the bytes to the intent's upload URL.")
    announced = request.headers.get("content-length", "0")
    upload = Upload(platform, call.admission.scope, call.actor, project_id, publish_intent_id)
    pieces = paced(in_chunks(request.stream()), call.pace_upload)
    measured = await upload.receive(pieces, int(announced) if announced.isdigit() else 0)
    return reply(UploadedContent(digest=measured.digest, size_bytes=measured.size_bytes))


@router.post(_INTENTS + "/{publish_intent_id}/complete", response_model=PublishIntent, responses=_CHANGE)
async def publish_intent_complete(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    body: PublishIntentComplete,
    call: Annotated[Call, admitted_change("publish_intent_complete")],
) -> Response:
    """Register the digest of the bytes. They are checked against it, which takes a while; `registered` means they match."""
    caller, settings = call.caller, call.platform.settings
    return await call.change(
        lambda tx: publish_intents.publish_intent_complete(tx, settings, project_id, publish_intent_id, body, caller)
    )


@router.post(_INTENTS + "/{publish_intent_id}/cancel", response_model=PublishIntent, responses=_CHANGE)
async def publish_intent_cancel(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    call: Annotated[Call, admitted_change("publish_intent_cancel")],
) -> Response:
    """Cancel an open publish intent and remove the bytes that were sent for it. An intent that is being checked continues."""
    caller, settings = call.caller, call.platform.settings
    return await call.change(
        lambda tx: publish_intents.publish_intent_cancel(tx, settings, project_id, publish_intent_id, caller)
    )


@router.get(_ARTIFACTS, response_model=Page[Artifact], responses=problem_responses())
async def artifact_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("artifact_list")],
    stage: Annotated[StageName | None, Query(description="Only artifacts in this stage.")] = None,
    digest: Annotated[Digest | None, Query(description="Only artifacts with this digest.")] = None,
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """List the artifacts of the project, newest first, in every stage. `stage` and `digest` filter."""
    caller, settings = call.caller, call.platform.settings
    return await call.read(
        lambda connection: service.artifact_list(
            connection, settings, project_id, (stage, digest), (after, limit), caller
        )
    )


@router.get(_ARTIFACTS + "/{artifact_id}", response_model=Artifact, responses=problem_responses())
async def artifact_show(
    project_id: ProjectId, artifact_id: ArtifactId, call: Annotated[Call, admitted("artifact_show")]
) -> Response:
    """Show an artifact: what it is, its stage, and whether it is trusted and why."""
    caller, settings = call.caller, call.platform.settings
    return await call.read(
        lambda connection: service.artifact_show(connection, settings, project_id, artifact_id, caller)
    )


@router.get(
    _ARTIFACTS + "/{artifact_id}/content",
    response_class=Response,
    responses={
        200: content.BYTES,
        307: content.ELSEWHERE,
        **problem_responses("artifact_revoked", "storage_unavailable"),
    },
)
async def artifact_content(
    project_id: ProjectId, artifact_id: ArtifactId, call: Annotated[Call, admitted("artifact_content")]
) -> Response:
    """Download a blob. Compare the bytes with the digest."""
    async with call.platform.database.connection(call.admission.scope) as connection:
        key = await service.artifact_blob_key(connection, project_id, artifact_id)
    return content.content_response(call.platform.settings, key)


@router.post(
    _ARTIFACTS + "/{artifact_id}/evidence", status_code=201, response_model=Evidence, responses=problem_responses()
)
async def artifact_evidence_add(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    body: EvidenceAdd,
    call: Annotated[Call, admitted_change("artifact_evidence_add")],
) -> Response:
    """Record the result of a lint or a smoke test. The last of each kind must have passed before the artifact is staged."""
    return await call.change(lambda tx: service.artifact_evidence_add(tx, project_id, artifact_id, body), status=201)


@router.get(_ARTIFACTS + "/{artifact_id}/evidence", response_model=Page[Evidence], responses=problem_responses())
async def artifact_evidence_list(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    call: Annotated[Call, admitted("artifact_evidence_list")],
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """List the results of lint and smoke runs of the artifact, newest first."""
    return await call.read(
        lambda connection: service.artifact_evidence_list(connection, project_id, artifact_id, after, limit)
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
    return await call.change(
        lambda tx: service.artifact_move(tx, settings, project_id, artifact_id, body, caller, match)
    )


@router.post(_ARTIFACTS + "/{artifact_id}/verify", response_model=Artifact, responses=_CHANGE)
async def artifact_verify(
    project_id: ProjectId,
    artifact_id: ArtifactId,
    body: ArtifactVerify,
    call: Annotated[Call, admitted_change("artifact_verify")],
) -> Response:
    """Check bytes and signatures again. `checking` is true meanwhile; `trust` has the result."""
    caller, settings = call.caller, call.platform.settings
    return await call.change(lambda tx: service.artifact_verify(tx, settings, project_id, artifact_id, body, caller))


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
    return await call.change(
        lambda tx: service.artifact_revoke(tx, settings, project_id, artifact_id, body.reason, caller)
    )


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
    return await call.change(
        lambda tx: deletion.artifact_delete(tx, settings, project_id, artifact_id, caller), status=202
    )


router.include_router(trust_endpoints.router)
router.include_router(registry_endpoints.router)
