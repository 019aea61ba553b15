"""Delivers the lines of a host to the process that waits for them: this one, or a peer."""

import asyncio
from collections.abc import Iterator, Sequence

import orjson

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.logs.readers import LogReaders
from gpuaas_server.logs.schemas import LogPortion, PortionLine
from gpuaas_server.logs.service import portion_of
from gpuaas_server.logs.tickets import Ticket, read_ticket
from gpuaas_server.peers.service import ChannelClosed, PeerServer, StreamChannel

KIND = "log_read"
PIECE_BYTES = 128 * 1024
SECONDS = 10.0  # a peer has so long to take a portion


class LogDelivery:
    """Takes portions for this process and for its peers. Lines are made fit to show where their reader is, if there is one."""

    def __init__(self, platform: Platform, readers: LogReaders, peers: PeerServer) -> None:
        self._platform = platform
        self._readers = readers
        self._peers = peers
        peers.offer(KIND, self._take_from_peer)

    async def deliver(self, node_id: str, read_id: str, body: LogPortion) -> bool:
        """Deliver lines of this node. Return whether somebody reads them; a ticket of another node is refused."""
        ticket = read_ticket(self._platform.sealer, body.ticket)
        if ticket is None or (ticket.node_id, ticket.read_id) != (node_id, read_id):
            raise Problem("forbidden", "The platform did not request these lines from this node.")
        if ticket.ends <= self._platform.clock().timestamp():
            return False
        if ticket.holder == self._peers.address:
            return self._readers.has(read_id) and self._readers.deliver(
                read_id, portion_of(ticket.member_id, body.lines, body.left_out, body.more)
            )
        try:
            return await self._send_to_peer(ticket, body)
        except (ChannelClosed, TimeoutError):
            return False

    async def _send_to_peer(self, ticket: Ticket, body: LogPortion) -> bool:
        channel, answer = await self._peers.call(ticket.holder, KIND, ticket.read_id)
        try:
            if not isinstance(answer, dict) or answer.get("type") != "ready":
                return False
            async with asyncio.timeout(SECONDS):
                for piece in _pieces(body.lines):
                    await channel.send(piece)
                end = {"type": "end", "member_id": ticket.member_id, "left_out": body.left_out, "more": body.more}
                await channel.send(end)
                last = await channel.receive()
            return isinstance(last, dict) and last.get("watched") is True
        finally:
            channel.drop()  # everything is sent; an orderly close could wait for a peer that does not read

    async def _take_from_peer(self, read_id: str, channel: StreamChannel) -> None:
        if not self._readers.has(read_id):
            await channel.send({"type": "nobody"})
            return
        await channel.send({"type": "ready"})
        lines: list[PortionLine] = []
        async with asyncio.timeout(SECONDS):
            while isinstance(message := await channel.receive(), bytes):
                lines += [PortionLine.model_validate(one) for one in orjson.loads(message)]
        left_out = message.get("left_out")
        left_out = left_out if isinstance(left_out, int) else 0
        watched = self._readers.has(read_id) and self._readers.deliver(
            read_id, portion_of(str(message.get("member_id")), lines, left_out, message.get("more") is True)
        )
        await channel.send({"watched": watched})


def _pieces(lines: Sequence[PortionLine]) -> Iterator[bytes]:
    """Encode the lines in messages that a channel takes."""
    piece: list[bytes] = []
    size = 0
    for line in lines:
        encoded = line.__pydantic_serializer__.to_json(line)
        if piece and size + len(encoded) > PIECE_BYTES:
            yield b"[" + b",".join(piece) + b"]"
            piece, size = [], 0
        piece.append(encoded)
        size += len(encoded)
    if piece:
        yield b"[" + b",".join(piece) + b"]"
