"""The platform's own keys over HTTP."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.access import platform_keys
from gpuaas_server.access.schemas import PlatformKey, PlatformKeyRetire, PlatformKeyRotate
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import PlatformKeyId
from gpuaas_server.pki import service as pki

router = api_router(tags=["access"])
_CHANGE = problem_responses("conflict", "idempotency_mismatch", "idempotency_in_progress")
_ROTATE = problem_responses("secret_store_unavailable", "idempotency_mismatch", "idempotency_in_progress")


@router.get("/platform-keys", response_model=Page[PlatformKey], responses=problem_responses())
async def platform_key_list(
    call: Annotated[Call, admitted("platform_key_list")],
    page: PageQuery,
) -> Response:
    """List the keys that sign tasks and certificates, with retired ones: their public keys, and what protects the private
    keys.
    """
    now = call.platform.clock()
    return await call.read(lambda connection: platform_keys.platform_key_list(connection, now, page))


@router.post("/platform-keys/rotate", status_code=201, response_model=PlatformKey, responses=_ROTATE)
async def platform_key_rotate(
    body: PlatformKeyRotate, call: Annotated[Call, admitted_change("platform_key_rotate")]
) -> Response:
    """Make a new key. It is published now and signs after ten minutes; older keys are trusted until they are retired."""
    new = await pki.key_prepare(call.platform, body.kind)
    return await call.change(lambda tx: platform_keys.platform_key_rotate(tx, new, body), status=201)


@router.post("/platform-keys/{platform_key_id}/retire", response_model=PlatformKey, responses=_CHANGE)
async def platform_key_retire(
    platform_key_id: PlatformKeyId,
    body: PlatformKeyRetire,
    call: Annotated[Call, admitted_change("platform_key_retire")],
) -> Response:
    """End the trust in a key, once a newer one signs. A TLS CA needs every living agent to trust its successor first."""
    return await call.change(lambda tx: platform_keys.platform_key_retire(tx, platform_key_id, body))
