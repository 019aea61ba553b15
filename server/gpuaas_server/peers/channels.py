"""Channels: bytes and small messages in both directions. Here: over a stream between two of our processes.

Nothing is buffered here beyond one message: a side that cannot send does not receive either. So a shell that writes faster
than a person reads is slowed down at its source.
"""

import asyncio
import struct
from contextlib import suppress
from typing import Protocol

import orjson

Message = bytes | dict[str, object]
LONGEST = 256 * 1024  # one message; a terminal has no reason for more
LONGEST_TEXT = 16 * 1024
_HEADER = struct.Struct(">?I")  # is it a small message, and how long


class ChannelClosed(Exception):
    """The other side is gone, or breaks the protocol."""


class Channel(Protocol):
    async def receive(self) -> Message:
        """Return the next message, or raise ChannelClosed."""

    async def send(self, message: Message) -> None: ...

    async def close(self) -> None: ...


class StreamChannel:
    """A channel between two api processes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        writer.transport.set_write_buffer_limits(high=LONGEST)

    async def receive(self) -> Message:
        try:
            small, length = _HEADER.unpack(await self._reader.readexactly(_HEADER.size))
            if length > LONGEST:
                raise ChannelClosed
            data = await self._reader.readexactly(length)
        except (asyncio.IncompleteReadError, OSError) as error:
            raise ChannelClosed from error
        return small_message(data.decode(errors="replace")) if small else data

    async def send(self, message: Message) -> None:
        small = isinstance(message, dict)
        data = orjson.dumps(message) if isinstance(message, dict) else message
        try:
            self._writer.write(_HEADER.pack(small, len(data)) + data)
            await self._writer.drain()
        except (OSError, RuntimeError) as error:
            raise ChannelClosed from error

    async def close(self) -> None:
        with suppress(OSError, RuntimeError):
            self._writer.close()
            await self._writer.wait_closed()

    def drop(self) -> None:
        """Close at once: what is under way is lost."""
        self._writer.transport.abort()


def small_message(text: str) -> dict[str, object]:
    """Parse a small message, or raise ChannelClosed: anything else breaks the protocol."""
    if len(text) > LONGEST_TEXT:
        raise ChannelClosed
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise ChannelClosed from error
    if not isinstance(value, dict):
        raise ChannelClosed
    return value
