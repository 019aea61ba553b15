"""The registry's token endpoint, by the token protocol that every OCI client speaks."""

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from gpuaas_server.artifacts import registry_access
from gpuaas_server.artifacts.schemas import RegistryToken
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.problems import declared

router = APIRouter(tags=["registry"])
Scope = Annotated[str, Query(max_length=1000)]


@router.get(
    "/registry/token",
    response_model=RegistryToken,
    responses=declared(
        "invalid_request",
        "bad_credentials",
        "token_expired",
        "token_invalid",
        "account_disabled",
        "rate_limited",
        "registry_not_configured",
        "internal",
        "unavailable",
    ),
)
async def registry_token(
    request: Request,
    call: Annotated[Call, admitted("registry_token")],
    scope: Annotated[list[str] | None, Query(max_length=20, description="repository:<name>:pull,push")] = None,
    service: Annotated[str | None, Query(max_length=200)] = None,
    account: Annotated[str | None, Query(max_length=200)] = None,
    client_id: Annotated[str | None, Query(max_length=200)] = None,
    offline_token: Annotated[str | None, Query(max_length=10)] = None,
) -> Response:
    """A registry token of five minutes for what the caller may do. Sign in as `token` with an access token, as a service
    account with its key, or as a runtime secret. What was asked for and is not allowed is left out of the token.
    """
    gate, header = request.app.state.gate, request.headers.get("authorization")
    return reply(await registry_access.registry_token_issue(call.platform, gate, call.actor, header, scope or []))
