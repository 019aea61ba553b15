"""The keys of the secret store over HTTP."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.secrets import keys
from gpuaas_server.secrets.schemas import SecretKey, SecretKeyRotate

router = api_router(tags=["secrets"])


@router.get("/secret-keys", response_model=Page[SecretKey], responses=problem_responses())
async def secret_key_list(
    call: Annotated[Call, admitted("secret_key_list")],
    page: PageQuery,
) -> Response:
    """List the keys that protect stored secrets, newest first: how many values are under each, and which are destroyed."""
    return await call.read(lambda connection: keys.secret_key_list(connection, page))


@router.post(
    "/secret-keys/rotate",
    status_code=201,
    response_model=SecretKey,
    responses=problem_responses("secret_store_unavailable", "idempotency_mismatch", "idempotency_in_progress"),
)
async def secret_key_rotate(
    body: SecretKeyRotate, call: Annotated[Call, admitted_change("secret_key_rotate")]
) -> Response:
    """Make a new key for all secrets. Stored secrets are wrapped again in the background; then the old key is destroyed."""
    platform = call.platform
    version = await keys.external_rotation(platform)
    return await call.change(lambda tx: keys.secret_key_rotate(tx, platform, version, body.reason), status=201)
