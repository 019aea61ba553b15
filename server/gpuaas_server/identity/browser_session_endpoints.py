"""Signing in from a browser: a session in a cookie, which scripts cannot read."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.identity import browser_sessions, cookies
from gpuaas_server.identity.cookies import CookieSecret
from gpuaas_server.identity.schemas import BrowserSession, PasswordGrant
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router

router = api_router()


@router.post(
    "/auth/session",
    response_model=BrowserSession,
    responses=problem_responses(
        "bad_credentials",
        "account_disabled",
        "deletion_scheduled",
        "account_locked",
        "rate_limited",
        "sign_in_busy",
        "origin_refused",
    ),
)
async def auth_session_create(body: PasswordGrant, call: Annotated[Call, admitted("auth_session_create")]) -> Response:
    """Sign in from a browser. The answer sets the session cookie, which authenticates all calls in place of a token.

    A call with the cookie that may change something needs `X-CSRF-Token` with the token of this answer. A previous session of
    the browser ends. Answers are never cached.
    """
    public_url = call.platform.settings.public_url
    cookies.refuse_foreign_origin(call.request, public_url)
    previous = CookieSecret.of(call.request)
    session, secret = await browser_sessions.auth_session_create(call.platform, call.actor, body, previous)
    return cookies.set_cookie(reply(session), secret, cookies.is_secure(call.request, public_url))


@router.get("/auth/session", response_model=BrowserSession, responses=problem_responses("session_ended"))
async def auth_session_show(call: Annotated[Call, admitted("auth_session_show")]) -> Response:
    """Show who is signed in with the browser's cookie. The answer has the token for `X-CSRF-Token`; a page calls this when it
    loads.
    """
    return reply(await browser_sessions.auth_session_show(call.platform, CookieSecret.of(call.request)))


@router.delete("/auth/session", status_code=204, responses=problem_responses("csrf_token_wrong", "origin_refused"))
async def auth_session_end(call: Annotated[Call, admitted("auth_session_end")]) -> Response:
    """Sign out: end the session of the browser's cookie immediately, and remove the cookie."""
    public_url = call.platform.settings.public_url
    secret = CookieSecret.of(call.request)
    if secret is not None:
        cookies.refuse_forged(call.request, secret, public_url)
        await browser_sessions.auth_session_end(call.platform, call.actor, secret)
    return cookies.take_back(reply(None), cookies.is_secure(call.request, public_url))
