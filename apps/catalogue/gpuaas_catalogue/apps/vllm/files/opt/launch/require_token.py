"""Requires the token on all paths of vLLM's server except three. vLLM's own check leaves out paths such as /invocations.

The server loads this class by its option `--middleware`.
"""

import hmac
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from access_token import ensure_token

OPEN = ("/health", "/metrics", "/version")  # for probes and the host's meter; they show no prompts and no answers
_HEADERS = [(b"content-type", b"application/json"), (b"www-authenticate", b"Bearer")]
_REFUSAL = (
    b'{"error": {"message": "Send the token of this server as a bearer token.", "type": "unauthorized", "code": 401}}'
)

Message = MutableMapping[str, Any]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Message, Callable[[], Awaitable[Message]], Send], Awaitable[None]]


class RequireToken:
    """An ASGI application that wraps the server's application."""

    def __init__(self, app: Application) -> None:
        self.app, self.expected = app, f"Bearer {ensure_token()}".encode()

    async def __call__(self, scope: Message, receive: Callable[[], Awaitable[Message]], send: Send) -> None:
        if self._lets_in(scope):
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await send({"type": "http.response.start", "status": 401, "headers": _HEADERS})
            await send({"type": "http.response.body", "body": _REFUSAL})

    def _lets_in(self, scope: Message) -> bool:
        """Tell whether the request may pass. A browser sends OPTIONS without a token, and the engine does no work for it."""
        if scope["type"] not in ("http", "websocket") or scope.get("method") == "OPTIONS":
            return True
        if scope["type"] == "http" and scope["path"] in OPEN:
            return True
        return any(hmac.compare_digest(value, self.expected) for value in _sent(scope["headers"]))


def _sent(headers: Iterable[tuple[bytes, bytes]]) -> list[bytes]:
    return [value for name, value in headers if name.lower() == b"authorization"]
