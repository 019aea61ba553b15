"""Publish intents over HTTP, with the uploads to them."""

import re
from typing import Annotated

from fastapi import Path, Query, Request
from starlette.responses import Response

from gpuaas_server.artifacts import backends, content, external_images, publish_intents
from gpuaas_server.artifacts.directory_store import DirectoryStore
from gpuaas_server.artifacts.part_uploads import PartUploads
from gpuaas_server.artifacts.schemas import (
    ArtifactAnnouncement,
    Digest,
    ExternalImageCreate,
    PublishIntent,
    PublishIntentComplete,
    UploadedContent,
    UploadedPart,
    UploadParts,
    UploadPartsRequest,
)
from gpuaas_server.artifacts.stores import in_chunks
from gpuaas_server.artifacts.uploads import Upload, paced
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http import idempotency
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change, reply
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import ProjectId, PublishIntentId

router = api_router(tags=["artifacts"])
_INTENTS = "/projects/{project_id}/publish-intents"
_CHANGE = ("conflict", "idempotency_mismatch", "idempotency_in_progress", "storage_unavailable")
OCTETS = "application/octet-stream"
_TAKES_BYTES = re.compile(r"/api/v1/projects/[^/]+/publish-intents/[^/]+/(content|parts/[0-9]+)")


def takes_bytes(method: str, path: str) -> bool:
    """Tell whether the body is a blob on its way to the store, which has its own limit."""
    return method == "PUT" and _TAKES_BYTES.fullmatch(path) is not None


@router.post(
    _INTENTS,
    status_code=201,
    response_model=PublishIntent,
    responses=problem_responses("registry_not_configured", "storage_unavailable", "quota_exceeded", "already_exists"),
)
async def publish_intent_create(
    project_id: ProjectId,
    body: ArtifactAnnouncement,
    call: Annotated[Call, admitted_change("publish_intent_create")],
) -> Response:
    """Announce an artifact to publish. The answer says where to send its bytes; complete the intent when they are there."""
    caller, settings = call.caller, call.platform.settings
    return await call.change(lambda tx: publish_intents.publish_intent_create(tx, settings, body, caller), status=201)


@router.post(
    "/projects/{project_id}/external-images",
    status_code=201,
    response_model=PublishIntent,
    responses=problem_responses("conflict", "registry_not_allowed", "secret_store_unavailable", "quota_exceeded"),
)
async def publish_intent_refer(
    project_id: ProjectId,
    body: ExternalImageCreate,
    call: Annotated[Call, admitted_change("publish_intent_refer")],
) -> Response:
    """Register an image that stays in an external registry. The platform reads its manifest at once; `registered` means that
    it has the digest. Registering it again replaces the credential.
    """
    caller, platform = call.caller, call.platform
    external_images.registry_scheme(platform.settings, external_images.parse_reference(body.reference).registry)
    credential = await external_images.prepare_credential(platform, caller, body.credential)
    try:
        answer = await call.change(
            lambda tx: publish_intents.publish_intent_refer(tx, platform.settings, caller, body, credential),
            status=201,
        )
    except Problem:
        await external_images.discard_credential(platform, credential)
        raise
    if idempotency.is_replay(answer):  # the first request's credential is the credential
        await external_images.discard_credential(platform, credential)
    return answer


@router.get(_INTENTS, response_model=Page[PublishIntent], responses=problem_responses())
async def publish_intent_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("publish_intent_list")],
    page: PageQuery,
    digest: Annotated[Digest | None, Query(description="Only intents with this digest.")] = None,
) -> Response:
    """List the publish intents of the project, newest first. Ended intents are deleted after a while."""
    caller, settings = call.caller, call.platform.settings
    return await call.read(
        lambda connection: publish_intents.publish_intent_list(connection, settings, digest, page, caller)
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
        lambda connection: publish_intents.publish_intent_show(connection, settings, publish_intent_id, caller, now)
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
    _require_bytes_here(call)
    announced = request.headers.get("content-length", "0")
    upload = Upload(platform, call.admission.scope, call.actor, project_id, publish_intent_id)
    pieces = paced(in_chunks(request.stream()), call.pace_upload)
    measured = await upload.receive(pieces, int(announced) if announced.isdigit() else 0)
    return reply(UploadedContent(digest=measured.digest, size_bytes=measured.size_bytes))


def _require_bytes_here(call: Call) -> None:
    if call.request.headers.get("content-type", "").partition(";")[0] != OCTETS:
        raise Problem("unsupported_media_type", f"The bytes of a blob are sent as {OCTETS}.")
    if not isinstance(backends.blob_store(call.platform.settings), DirectoryStore):
        raise Problem(
            "conflict",
            "This platform keeps blobs in a bucket: send the bytes to the URLs of the intent or of its parts.",
        )


@router.post(
    _INTENTS + "/{publish_intent_id}/parts",
    response_model=UploadParts,
    responses=problem_responses("conflict", "storage_unavailable"),
)
async def publish_intent_parts(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    body: UploadPartsRequest,
    call: Annotated[Call, admitted("publish_intent_parts")],
) -> Response:
    """List parts of an upload: which have arrived, and where to send the others. Parts may be sent in any order, and more than
    once; an interrupted upload continues with the missing ones.
    """
    uploads = PartUploads(call.platform, call.admission.scope, call.actor, project_id, publish_intent_id)
    return reply(await uploads.list(body))


@router.put(
    _INTENTS + "/{publish_intent_id}/parts/{number}",
    response_model=UploadedPart,
    responses=problem_responses(
        "unsupported_media_type", "conflict", "storage_unavailable", "upload_in_progress", "too_many_uploads"
    ),
    openapi_extra={"requestBody": {"required": True, **content.BYTES}},
)
async def publish_intent_upload_part(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    number: Annotated[int, Path(ge=1, le=10_000)],
    request: Request,
    call: Annotated[Call, admitted("publish_intent_upload_part")],
) -> Response:
    """Upload one part of a blob, where the platform keeps blobs in its own directory. A repetition replaces the part."""
    _require_bytes_here(call)
    uploads = PartUploads(call.platform, call.admission.scope, call.actor, project_id, publish_intent_id)
    return reply(await uploads.receive(number, paced(in_chunks(request.stream()), call.pace_upload)))


@router.post(
    _INTENTS + "/{publish_intent_id}/complete",
    response_model=PublishIntent,
    responses=problem_responses(*_CHANGE, "upload_incomplete", "digest_mismatch"),
)
async def publish_intent_complete(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    body: PublishIntentComplete,
    call: Annotated[Call, admitted_change("publish_intent_complete")],
) -> Response:
    """Register the digest of the bytes. They are checked against it, which takes a while; `registered` means they match."""
    caller, settings = call.caller, call.platform.settings
    await PartUploads(call.platform, call.admission.scope, call.actor, project_id, publish_intent_id).require_complete()
    return await call.change(
        lambda tx: publish_intents.publish_intent_complete(tx, settings, publish_intent_id, body, caller)
    )


@router.post(
    _INTENTS + "/{publish_intent_id}/cancel", response_model=PublishIntent, responses=problem_responses(*_CHANGE)
)
async def publish_intent_cancel(
    project_id: ProjectId,
    publish_intent_id: PublishIntentId,
    call: Annotated[Call, admitted_change("publish_intent_cancel")],
) -> Response:
    """Cancel an open publish intent and remove the bytes that were sent for it. An intent that is being checked continues."""
    caller, settings = call.caller, call.platform.settings
    return await call.change(lambda tx: publish_intents.publish_intent_cancel(tx, settings, publish_intent_id, caller))
