"""Signing in, one's own account, and the keys that sign tokens."""

from typing import Annotated

from fastapi import Body
from pydantic import Field
from starlette.responses import Response

from gpuaas_server.identity import (
    browser_session_endpoints,
    logins,
    passwords,
    service_account_endpoints,
    sessions,
    signing_keys,
    user_endpoints,
    users,
)
from gpuaas_server.identity.schemas import (
    AccessToken,
    ClientCredentialsGrant,
    JsonWebKeySet,
    Logout,
    Me,
    PasswordChange,
    PasswordGrant,
    RefreshGrant,
    SigningKey,
)
from gpuaas_server.identity.sessions import RefreshToken
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change, reply
from gpuaas_server.kernel.http.client_certificates import shown_certificate
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import add_routes, api_router, root_router
from gpuaas_server.kernel.ids import SigningKeyId

router = api_router()
well_known = root_router(include_in_schema=False)  # mounted at the root, not under /api/v1

Grant = Annotated[PasswordGrant | RefreshGrant | ClientCredentialsGrant, Body(), Field(discriminator="grant_type")]


@router.post(
    "/auth/token",
    response_model=AccessToken,
    responses=problem_responses(
        "bad_credentials",
        "session_ended",
        "account_disabled",
        "deletion_scheduled",
        "account_locked",
        "rate_limited",
        "sign_in_busy",
        "client_certificate_required",
        "client_certificate_refused",
    ),
)
async def auth_token(body: Grant, call: Annotated[Call, admitted("auth_token")]) -> Response:
    """Sign in as a user (password, then refresh token) or as a service account (client credentials).

    A refresh token is valid once. Using it again ends the session, except that a client which lost the answer may repeat the
    request once within 30 seconds. Answers with tokens are never cached.

    Over a connection with a client certificate of the service account, the token is bound to the certificate (RFC 8705).
    """
    return reply(await logins.auth_token(call.platform, call.actor, body, shown_certificate(call.request)))


@router.post("/auth/logout", status_code=204, responses=problem_responses())
async def auth_logout(body: Logout, call: Annotated[Call, admitted("auth_logout")]) -> Response:
    """End the session of a refresh token. Its access tokens stay valid until they expire."""
    await sessions.auth_logout(call.platform, call.actor, RefreshToken.read(body.refresh_token))
    return reply(None)


@router.get("/auth/jwks", response_model=JsonWebKeySet, responses=problem_responses())
@well_known.get("/.well-known/jwks.json", response_model=JsonWebKeySet)
async def auth_jwks(call: Annotated[Call, admitted("auth_jwks")]) -> Response:
    """List the public keys that verify access tokens (RFC 7517)."""
    return reply(await signing_keys.auth_jwks(call.platform))


@router.get("/auth/keys", response_model=Page[SigningKey], responses=problem_responses())
async def signing_key_list(
    call: Annotated[Call, admitted("signing_key_list")],
    page: PageQuery,
) -> Response:
    """List the keys that sign access tokens, newest first. A key that no longer signs verifies until its last token expires."""
    return await call.read(lambda connection: signing_keys.signing_key_list(connection, page))


@router.post(
    "/auth/keys",
    status_code=201,
    response_model=SigningKey,
    responses=problem_responses("secret_store_unavailable", "idempotency_in_progress"),
)
async def signing_key_rotate(call: Annotated[Call, admitted_change("signing_key_rotate")]) -> Response:
    """Make a new key that signs from now on. Tokens of the old key stay valid until they expire."""
    minutes = call.platform.settings.token_minutes
    new = await signing_keys.signing_key_prepare(call.platform)
    return await call.change(lambda tx: signing_keys.signing_key_rotate(tx, new, minutes), status=201)


@router.delete(
    "/auth/keys/{signing_key_id}",
    status_code=204,
    responses=problem_responses("secret_store_unavailable", "idempotency_in_progress"),
)
async def signing_key_revoke(
    signing_key_id: SigningKeyId, call: Annotated[Call, admitted_change("signing_key_revoke")]
) -> Response:
    """Revoke a leaked key. Every token that it signed ends now, perhaps yours too; sessions continue with a new key."""
    new = await signing_keys.signing_key_prepare(call.platform)  # in case it is the one that signs
    return await call.change(lambda tx: signing_keys.signing_key_revoke(tx, new, signing_key_id))


@router.get("/me", response_model=Me, responses=problem_responses())
async def me_show(call: Annotated[Call, admitted("me_show")]) -> Response:
    """Show who you are to the platform: your roles, or a service account's scopes."""
    return reply(await users.me_show(call.platform, call.actor))


@router.post(
    "/me/password",
    status_code=204,
    responses=problem_responses(
        "weak_password", "bad_credentials", "account_locked", "rate_limited", "sign_in_busy", "conflict"
    ),
)
async def me_password_change(
    body: PasswordChange, call: Annotated[Call, admitted_change("me_password_change")]
) -> Response:
    """Change your password. All your tokens end: sign in again."""
    proven = await logins.prove_password(call.platform, call.actor, body.current_password)
    password = await passwords.hash_new_password(body.new_password, proven.email)
    return await call.change(lambda tx: users.me_password_change(tx, proven, password))


add_routes(router, browser_session_endpoints.router, user_endpoints.router, service_account_endpoints.router)
