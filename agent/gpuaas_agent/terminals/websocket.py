"""A WebSocket client (RFC 6455), limited to what a terminal needs: Debian's Python has none.

Nothing is buffered beyond one message and the transport's buffer: a side that cannot send does not read.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hashlib
import json
import os
import socket
import struct
import urllib.parse

from gpuaas_agent import wire

Message = bytes | dict[str, object]
LONGEST = 256 * 1024
_MAGIC = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_CONNECT_SECONDS = 5.0
# Keep-alive: without it, terminals of a server that vanished would stay open until the host restarts.
_KEPT_ALIVE = ((socket.TCP_KEEPIDLE, 60), (socket.TCP_KEEPINTVL, 15), (socket.TCP_KEEPCNT, 4))
_CONTINUATION, _TEXT, _BINARY, _CLOSE, _PING, _PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


class SocketClosed(Exception):
    """The other side closed the connection or violated the protocol."""


class WebSocket:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=LONGEST)

    @classmethod
    async def open(cls, request: wire.StreamRequest) -> WebSocket:
        """Open a WebSocket. Raises Refused with the server's problem, or Unreachable without an answer."""
        parts = urllib.parse.urlsplit(request.url)
        secure = parts.scheme == "https"
        try:
            async with asyncio.timeout(_CONNECT_SECONDS):
                reader, writer = await asyncio.open_connection(
                    parts.hostname,
                    parts.port or (443 if secure else 80),
                    ssl=request.context if secure else None,
                    limit=LONGEST,
                )
        except OSError as problem:
            raise wire.Unreachable(f"{request.url}: {problem!r}") from problem
        try:
            _keep_alive(writer)
            await _handshake(reader, writer, parts.netloc, request)
        except BaseException as problem:
            writer.close()
            if isinstance(problem, OSError | asyncio.IncompleteReadError | asyncio.LimitOverrunError):
                raise wire.Unreachable(f"{request.url}: {problem!r}") from problem
            raise
        return cls(reader, writer)

    async def receive(self) -> Message:
        """Return the next message; pings are answered."""
        parts: list[bytes] = []
        kind = _BINARY
        while True:
            final, opcode, data = await self._frame()
            if opcode == _PING:
                await self._send(_PONG, data)
            elif opcode == _CLOSE:
                raise SocketClosed
            elif opcode in (_TEXT, _BINARY, _CONTINUATION):
                kind = opcode or kind
                parts.append(data)
                if sum(map(len, parts)) > LONGEST:
                    raise SocketClosed
                if final:
                    return _message(kind, b"".join(parts))

    async def send(self, message: Message) -> None:
        if isinstance(message, bytes):
            await self._send(_BINARY, message)
        else:
            await self._send(_TEXT, json.dumps(message).encode())

    async def close(self) -> None:
        with contextlib.suppress(SocketClosed, TimeoutError):
            async with asyncio.timeout(1.0):
                await self._send(_CLOSE, struct.pack(">H", 1000))
        self._writer.close()

    async def _frame(self) -> tuple[bool, int, bytes]:
        try:
            first, second = await self._reader.readexactly(2)
            length = second & 0x7F
            if length == 126:
                (length,) = struct.unpack(">H", await self._reader.readexactly(2))
            elif length == 127:
                (length,) = struct.unpack(">Q", await self._reader.readexactly(8))
            if length > LONGEST or second & 0x80:
                raise SocketClosed  # a server must not mask
            return bool(first & 0x80), first & 0x0F, await self._reader.readexactly(length)
        except (OSError, asyncio.IncompleteReadError) as problem:
            raise SocketClosed from problem

    async def _send(self, opcode: int, data: bytes) -> None:
        length = len(data)
        head = bytes([0x80 | opcode])
        if length < 126:
            head += bytes([0x80 | length])
        elif length < 1 << 16:
            head += struct.pack(">BH", 0x80 | 126, length)
        else:
            head += struct.pack(">BQ", 0x80 | 127, length)
        key = os.urandom(4)
        try:
            self._writer.write(head + key + masked(data, key))
            await self._writer.drain()
        except (OSError, RuntimeError) as problem:
            raise SocketClosed from problem


def _keep_alive(writer: asyncio.StreamWriter) -> None:
    connection: socket.socket = writer.get_extra_info("socket")
    for option, value in _KEPT_ALIVE:
        connection.setsockopt(socket.IPPROTO_TCP, option, value)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)


def masked(data: bytes, key: bytes) -> bytes:
    """Mask the data as one large integer, which is much faster than byte by byte."""
    length = len(data)
    stream = (key * (length // 4 + 1))[:length]
    return (int.from_bytes(data, "big") ^ int.from_bytes(stream, "big")).to_bytes(length, "big")


def _message(kind: int, data: bytes) -> Message:
    if kind == _BINARY:
        return data
    try:
        value = json.loads(data)
    except ValueError as problem:
        raise SocketClosed from problem
    if not isinstance(value, dict):
        raise SocketClosed
    return value


async def _handshake(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, request: wire.StreamRequest
) -> None:
    key = base64.b64encode(os.urandom(16))
    lines = [
        f"GET {request.path} HTTP/1.1",
        f"Host: {host}",
        "Upgrade: websocket",
        "Connection: Upgrade",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {key.decode()}",
        *(f"{name}: {value}" for name, value in request.headers.items()),
    ]
    writer.write("\r\n".join([*lines, "", ""]).encode())
    await writer.drain()
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    status = int(head.split(" ", 2)[1])
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (line.partition(":") for line in head.split("\r\n")[1:])
    }
    if status != 101:
        length = headers.get("content-length", "0")
        body = await reader.readexactly(min(int(length), LONGEST) if length.isdigit() else 0)
        wire.answer(status if status >= 400 else 502, body)
    wanted = base64.b64encode(hashlib.sha1(key + _MAGIC, usedforsecurity=False).digest()).decode()
    if headers.get("sec-websocket-accept") != wanted:
        raise wire.Unreachable("the server does not speak WebSocket")
