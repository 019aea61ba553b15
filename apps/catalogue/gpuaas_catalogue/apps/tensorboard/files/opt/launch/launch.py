"""Serves TensorBoard to clients that have its token, because TensorBoard itself has no sign-in.

A client sends the token in a header, or once in the address (`/?token=…`), which sets a cookie. /healthz and
/version need no token.
"""

import hmac
import sys
from collections.abc import Callable, Iterable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from access_token import ensure_token
from tensorboard import default, program
from tensorboard.version import VERSION

PORT = 6006
_COOKIE = "tensorboard-token"
_TEXT = ("Content-Type", "text/plain; charset=utf-8")
Environment = dict[str, Any]
Start = Callable[..., Any]


class TokenGate:
    def __init__(self, app: Callable[[Environment, Start], Iterable[bytes]], token: str) -> None:
        self._app, self._token = app, token

    def __call__(self, environment: Environment, start: Start) -> Iterable[bytes]:
        if environment.get("PATH_INFO") == "/healthz":
            start("200 OK", [_TEXT])
            return [b"ok\n"]
        if environment.get("PATH_INFO") == "/version":
            start("200 OK", [_TEXT])
            return [f"{VERSION}\n".encode()]
        if self._is_right(parse_qs(environment.get("QUERY_STRING", "")).get("token", [""])[0]):
            cookie = f"{_COOKIE}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            start(
                "303 See Other", [_TEXT, ("Location", "/"), ("Set-Cookie", cookie), ("Referrer-Policy", "no-referrer")]
            )
            return [b""]
        if self._is_right(_shown(environment)):
            return self._app(environment, start)
        start("401 Unauthorized", [_TEXT, ("WWW-Authenticate", "Bearer")])
        return [b"Open this page with ?token= and the token that show-token prints in the container.\n"]

    def _is_right(self, shown: str) -> bool:
        return hmac.compare_digest(shown.encode(), self._token.encode())


def _shown(environment: Environment) -> str:
    kind, _, value = environment.get("HTTP_AUTHORIZATION", "").partition(" ")
    if kind.lower() == "bearer":
        return str(value.strip())
    try:
        cookie = SimpleCookie(environment.get("HTTP_COOKIE", "")).get(_COOKIE)
    except CookieError:
        return ""
    return cookie.value if cookie is not None else ""


def serve(app: Any, flags: Any) -> program.WerkzeugServer:
    return program.WerkzeugServer(TokenGate(app, ensure_token()), flags)


def main() -> None:
    board = program.TensorBoard(default.get_plugins(), server_class=serve)
    board.configure(argv=["tensorboard", "--logdir=/data/runs", "--host=0.0.0.0", f"--port={PORT}"])
    sys.exit(board.main())


if __name__ == "__main__":
    main()
