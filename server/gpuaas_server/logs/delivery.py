"""What a host brings, given to the process that waits for it: this one, or a peer."""

from collections.abc import Iterator

import orjson

from gpuaas_server.kernel.sealer import Sealer
from gpuaas_server.logs.readers import LogReaders, Portion
from gpuaas_server.logs.schemas import LogLine, LogPortion
from gpuaas_server.logs.service import portion_of
from gpuaas_server.logs.tickets import read_ticket
from gpuaas_server.peers.service import ChannelClosed, PeerServer, StreamChannel

KIND = "log_read"
PIECE_BYTES = 128 * 1024


class LogDelivery:
    """Takes portions for this process and for its peers."""

    def __init__(self, sealer: Sealer, readers: LogReaders, peers: PeerServer) -> None:
        self._sealer = sealer
        self._readers = readers
        self._peers = peers
        peers.offer(KIND, self._take_from_peer)

    async def deliver(self, node_id: str, read_id: str, body: LogPortion) -> bool:
        """Deliver lines of this node. Return whether somebody reads them; a ticket of another node finds nobody."""
        ticket = read_ticket(self._sealer, body.ticket)
        if ticket is None or ticket.node_id != node_id or ticket.read_id != read_id:
            return False
        portion = portion_of(ticket.member_id, body)
        if ticket.holder == self._peers.address:
            return self._readers.deliver(read_id, portion)
        try:
            return await self._send_to_peer(ticket.holder, read_id, portion)
        except ChannelClosed:
            return False

    async def _send_to_peer(self, holder: str, read_id: str, portion: Portion) -> bool:
        channel, answer = await self._peers.call(holder, KIND, read_id)
        try:
            if not isinstance(answer, dict) or answer.get("type") != "ready":
                return False
            for piece in _pieces(portion.lines):
                await channel.send(piece)
            await channel.send({"type": "end", "left_out": portion.left_out, "more": portion.more})
            last = await channel.receive()
            return isinstance(last, dict) and last.get("watched") is True
        finally:
            await channel.close()

    async def _take_from_peer(self, read_id: str, channel: StreamChannel) -> None:
        await channel.send({"type": "ready"})
        lines: list[LogLine] = []
        while isinstance(message := await channel.receive(), bytes):
            lines += [LogLine.model_validate(one) for one in orjson.loads(message)]
        left_out = message.get("left_out")
        portion = Portion(lines, left_out if isinstance(left_out, int) else 0, message.get("more") is True)
        await channel.send({"watched": self._readers.deliver(read_id, portion)})


def _pieces(lines: list[LogLine]) -> Iterator[bytes]:
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
