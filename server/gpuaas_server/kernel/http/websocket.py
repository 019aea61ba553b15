"""WebSockets with bounds: no frame is read before the application has admitted the caller."""

from asyncio import AbstractEventLoop
from asyncio.transports import BaseTransport
from typing import Any

from uvicorn.config import Config
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from uvicorn.server import ServerState
from websockets.http11 import Request

from gpuaas_server.kernel.http.connections import Connection


class BoundedWebSocketProtocol(WebSocketsSansIOProtocol):
    """The protocol of a connection after its upgrade. The connection comes along in the state."""

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._connection: Connection = app_state["connection"]

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self.client = self._connection.client

    def connection_lost(self, exc: Exception | None) -> None:
        self._connection.close()
        super().connection_lost(exc)

    def handle_connect(self, event: Request) -> None:
        super().handle_connect(event)
        if not self.transport.is_closing():
            self.read_paused = True  # until the application receives, which it does when it accepts
            self.transport.pause_reading()

    def pause_writing(self) -> None:
        """Stop reading from a client that does not read our answers to its pings: they would pile up here."""
        super().pause_writing()
        if not self.read_paused and not self._connection.authenticated:
            self.read_paused = True
            self.transport.pause_reading()
