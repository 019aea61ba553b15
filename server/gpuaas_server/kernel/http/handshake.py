"""A WebSocket's opening request, as the gate wants to see it: headers, path, a method, and no body."""

from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket


class Handshake(HTTPConnection):
    """`method`: CONNECT unless the caller has signed another one. It is not a read: it opens a way in."""

    def __init__(self, socket: WebSocket, method: str = "CONNECT") -> None:
        super().__init__(socket.scope)
        self.method = method

    async def body(self) -> bytes:
        return b""
