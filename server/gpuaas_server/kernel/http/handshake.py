"""The opening request of a WebSocket, in the form that the gate needs: headers, path, a method, and no body."""

from starlette.requests import HTTPConnection
from starlette.websockets import WebSocket


class Handshake(HTTPConnection):
    """`method` is CONNECT unless the caller has signed another one. It never counts as a read: it opens access."""

    def __init__(self, socket: WebSocket, method: str = "CONNECT") -> None:
        super().__init__(socket.scope)
        self.method = method

    async def body(self) -> bytes:
        return b""
