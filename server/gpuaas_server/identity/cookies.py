"""The cookie of a browser session, and the protection against other sites that use it. Nothing here asks the database.

A browser sends the cookie with every request, whichever site made it. So a request that may change something must also
show that it comes from our own pages: by a token that only they can read, and by its origin, if the browser sends one.
"""

import hashlib
import hmac
import re
import secrets
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem

if TYPE_CHECKING:  # the worker loads this module with its noun, and no web framework
    from starlette.requests import HTTPConnection
    from starlette.responses import Response

COOKIE = "gpuaas_session"
CSRF_HEADER = "x-csrf-token"
SECRET_BYTES = 32
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_TEXT = re.compile(r"gws_[A-Za-z0-9_-]{43}")
_PREFIX = "gws_"
_SCHEMES = {"ws": "http", "wss": "https"}


@dataclass(frozen=True, slots=True)
class CookieSecret:
    """The random content of the cookie. Only its digest is ever stored."""

    raw: bytes

    @classmethod
    def fresh(cls) -> "CookieSecret":
        return cls(secrets.token_bytes(SECRET_BYTES))

    @classmethod
    def of(cls, connection: "HTTPConnection") -> "CookieSecret | None":
        """Return the secret of the request; None without the cookie. A cookie of foreign making counts as an ended session."""
        text = connection.cookies.get(COOKIE)
        if text is None:
            return None
        return cls(urlsafe_b64decode(f"{text.removeprefix(_PREFIX)}=") if _TEXT.fullmatch(text) else b"")

    @property
    def text(self) -> str:
        return _PREFIX + urlsafe_b64encode(self.raw).decode().rstrip("=")

    @property
    def digest(self) -> bytes:
        return hashlib.sha256(self.raw).digest()

    @property
    def csrf_token(self) -> str:
        """A token derived from the secret, so it belongs to that cookie alone and needs no place in the database."""
        return urlsafe_b64encode(hmac.digest(self.raw, b"gpuaas csrf token", "sha256")).decode().rstrip("=")


def refuse_forged(connection: "HTTPConnection", secret: CookieSecret, public_url: str) -> None:
    """Refuse a request with the cookie that may change something and that another site could have made."""
    if connection.scope["type"] == "websocket":
        # A page cannot add a header to it, so here the origin alone decides: without one it is not a browser of ours.
        if "origin" not in connection.headers:
            raise Problem("origin_refused", "A WebSocket with the session cookie must send its Origin.")
        refuse_foreign_origin(connection, public_url)
    elif connection.scope["method"] not in SAFE_METHODS:
        refuse_foreign_origin(connection, public_url)
        shown = connection.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(shown.encode(), secret.csrf_token.encode()):
            raise Problem("csrf_token_wrong")


def refuse_foreign_origin(connection: "HTTPConnection", public_url: str) -> None:
    origin = connection.headers.get("origin")
    if origin is not None and origin.lower() not in _own_origins(connection, public_url):
        raise Problem("origin_refused")


def _own_origins(connection: "HTTPConnection", public_url: str) -> Iterable[str]:
    scheme = connection.scope["scheme"]
    own = f"{_SCHEMES.get(scheme, scheme)}://{connection.headers.get('host', '')}".lower()
    return (own, public_url.rstrip("/").lower()) if public_url else (own,)


def is_secure(connection: "HTTPConnection", public_url: str) -> bool:
    """Tell whether browsers reach us by HTTPS alone, so that the cookie may be kept to it."""
    return connection.scope["scheme"] in ("https", "wss") or public_url.lower().startswith("https://")


def set_cookie(response: "Response", secret: CookieSecret, secure: bool) -> "Response":
    """Set the cookie until the browser closes. The server decides when the session ends."""
    response.set_cookie(COOKIE, secret.text, path="/", secure=secure, httponly=True, samesite="strict")
    return response


def take_back(response: "Response", secure: bool) -> "Response":
    response.delete_cookie(COOKIE, path="/", secure=secure, httponly=True, samesite="strict")
    return response
