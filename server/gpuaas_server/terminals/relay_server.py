"""The relays of this process, and how another api process reaches them when the two streams of a terminal met elsewhere.

The process with the host's stream holds the terminal and listens here. The one with the person's stream finds its address
in the row and calls it as a peer. See docs/decisions/0021.
"""

from gpuaas_server.kernel.context import Platform
from gpuaas_server.peers.service import PeerServer
from gpuaas_server.terminals.channels import ChannelClosed, StreamChannel
from gpuaas_server.terminals.relay import Relay

KIND = "terminal"


class TerminalOccupied(ChannelClosed):
    """Raised when another person is connected to the terminal already."""


class RelayServer(PeerServer):
    """Keeps the relays of this process, and answers peers that ask for one."""

    def __init__(self, platform: Platform) -> None:
        super().__init__(platform)
        self.relays: dict[str, Relay] = {}
        self.offer(KIND, self._join)

    async def dial(self, address: str, terminal_id: str) -> StreamChannel:
        """Open a channel to the holder's process. Raise TerminalOccupied, or ChannelClosed if it has no such terminal."""
        channel, answer = await self.call(address, KIND, terminal_id)
        if not isinstance(answer, dict) or answer.get("type") != "joined":
            await channel.close()
            raise TerminalOccupied if isinstance(answer, dict) and answer.get("occupied") else ChannelClosed
        return channel

    async def _join(self, terminal_id: str, channel: StreamChannel) -> None:
        relay = self.relays.get(terminal_id)
        if relay is None or not relay.attach(channel):
            await channel.send({"type": "refused", "occupied": relay is not None})
            return
        await channel.send({"type": "joined"})  # sent first: the relay's task, which sends the output, has not run yet
        await relay.told.wait()
