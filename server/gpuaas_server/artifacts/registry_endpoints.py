"""Pulling: the registry's token endpoint, by the token protocol that every OCI client speaks."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from gpuaas_server.artifacts import content, registry_access, runtime_secrets
from gpuaas_server.artifacts.schemas import RegistryToken
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.client_certificates import shown_certificate
from gpuaas_server.kernel.http.problems import declared
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import ArtifactId

router = api_router(tags=["artifacts", "registry"])
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
        "client_certificate_required",
        "client_certificate_refused",
        "rate_limited",
        "registry_not_configured",
        "quota_exceeded",
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
    """Get a registry token, valid for five minutes, for what the caller may do. Sign in as `token` with an access token, as a
    service account with its key, or with a runtime secret. Access that is not allowed is left out of the token. So is a push
    to a repository without an open publish intent and without an image; a push is refused when the quota of bytes is used up.
    """
    gate, header = request.app.state.gate, request.headers.get("authorization")
    issued = await registry_access.registry_token_issue(
        call.platform, gate, call.actor, header, scope or [], shown_certificate(request)
    )
    return reply(issued)


@router.get(
    "/artifact-pulls/{artifact_id}",
    response_class=Response,
    responses={
        200: content.BYTES,
        206: content.REST,
        307: content.ELSEWHERE,
        **declared(
            "invalid_request",
            "bad_credentials",
            "artifact_revoked",
            "conflict",
            "internal",
            "unavailable",
            "storage_unavailable",
        ),
    },
)
async def artifact_pull(
    request: Request, artifact_id: ArtifactId, call: Annotated[Call, admitted("artifact_pull")]
) -> Response:
    """Download a blob with a runtime secret that was issued for it. The secret is sent as user name and password.
    `Range: bytes=N-` continues after N bytes.
    """
    shown = registry_access.read_authorization(request.headers.get("authorization"))
    if shown is None:
        raise Problem("bad_credentials", "Send the runtime secret as user name and password.")
    pulled = await runtime_secrets.open_secret(call.platform, shown.name, shown.password)
    if pulled.id != artifact_id or pulled.kind != "blob":
        raise Problem("bad_credentials", "The secret was not issued for this artifact.")
    return content.content_response(call.platform.settings, pulled.location, request.headers.get("range"))
