"""The channel of a terminal over a WebSocket: the person's, and the host's."""

from contextlib import suppress

import orjson
from starlette.websockets import WebSocket, WebSocketDisconnect

from gpuaas_server.peers.service import LONGEST, Channel, ChannelClosed, Message, StreamChannel, small_message

__all__ = ["LONGEST", "Channel", "ChannelClosed", "Message", "StreamChannel", "WebSocketChannel"]


class WebSocketChannel:
    def __init__(self, socket: WebSocket) -> None:
        self._socket = socket

    async def receive(self) -> Message:
        try:
            message = await self._socket.receive()
        except (RuntimeError, OSError) as error:
            raise ChannelClosed from error
        if message["type"] != "websocket.receive":
            raise ChannelClosed
        data = message.get("bytes")
        return data if data is not None else small_message(message.get("text") or "")

    async def send(self, message: Message) -> None:
        try:
            if isinstance(message, bytes):
                await self._socket.send_bytes(message)
            else:
                await self._socket.send_text(orjson.dumps(message).decode())
        except (WebSocketDisconnect, RuntimeError, OSError) as error:
            raise ChannelClosed from error

    async def close(self) -> None:
        with suppress(WebSocketDisconnect, RuntimeError, OSError):
            await self._socket.close()
