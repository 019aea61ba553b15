"""The relays of this process, and how another api process reaches them when the two streams of a terminal met elsewhere.

The process with the host's stream holds the terminal and listens here. The one with the person's stream finds its address
in the row, connects, and shows by a proof under the master key that it belongs to the platform. See docs/decisions/0021.
"""

import asyncio
import logging
import secrets
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import orjson
from cryptography.exceptions import InvalidTag

from gpuaas_server.kernel.context import Platform
from gpuaas_server.pki import service as pki
from gpuaas_server.terminals.channels import LONGEST, ChannelClosed, Message, StreamChannel
from gpuaas_server.terminals.relay import Relay

PURPOSE = "terminal crossing"
PROOF_LIFE = timedelta(seconds=30)
MEET_SECONDS = 5.0
LOOPBACK = ("127.", "::1")
log = logging.getLogger(__name__)


class Occupied(ChannelClosed):
    """The holder answers that somebody is at the terminal already."""


class RelayServer:
    """Keeps the relays of this process. `address` names this very process: a later one on the same port is another holder."""

    def __init__(self, platform: Platform) -> None:
        self.relays: dict[str, Relay] = {}
        self._platform = platform
        self._mark = secrets.token_hex(6)
        self._listens_at = ""
        self._context: ssl.SSLContext | None = None  # beyond loopback

    @property
    def address(self) -> str:
        return f"{self._listens_at}/{self._mark}"

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        host, _, port = self._platform.settings.peer_bind.rpartition(":")
        host = host.strip("[]")
        self._context = None if _is_local(host) else ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        await self.renew_certificate()
        server = await asyncio.start_server(self._accept_peer, host, int(port), ssl=self._context, limit=LONGEST)
        self._listens_at = f"{host}:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()

    async def renew_certificate(self) -> datetime | None:
        """Renew the listener's certificate where needed, and return when it ends."""
        if self._context is None:
            return None
        host = self._platform.settings.peer_bind.rpartition(":")[0].strip("[]")
        directory = self._platform.settings.data_dir / "peer-tls"
        files = await pki.ensure_server_certificate(self._platform, [host], directory)
        self._context.load_cert_chain(files.chain_path)
        return files.expiry()

    async def dial(self, address: str, terminal_id: str) -> StreamChannel:
        """Open a channel to the holder's process. Raise Occupied, or ChannelClosed when it does not know the terminal."""
        host, _, port = address.partition("/")[0].rpartition(":")
        context = None if _is_local(host) else await self._client_context()
        try:
            async with asyncio.timeout(MEET_SECONDS):
                reader, writer = await asyncio.open_connection(host, int(port), ssl=context, limit=LONGEST)
                channel = StreamChannel(reader, writer)
                answer = await self._introduce(channel, terminal_id)
        except (OSError, TimeoutError, ValueError) as error:
            log.warning("the holder of a terminal cannot be reached; see GPUAAS_PEER_BIND", extra={"holder": address})
            raise ChannelClosed from error
        if not isinstance(answer, dict) or answer.get("type") != "joined":
            await channel.close()
            raise Occupied if isinstance(answer, dict) and answer.get("occupied") else ChannelClosed
        return channel

    async def _introduce(self, channel: StreamChannel, terminal_id: str) -> Message:
        """Ask for the terminal, and return the answer. A channel that comes to nothing is not left open."""
        try:
            await channel.send({"terminal_id": terminal_id, "proof": self._proof(terminal_id)})
            return await channel.receive()
        except BaseException:
            channel.drop()
            raise

    async def _accept_peer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = StreamChannel(reader, writer)
        try:
            relay = await self._requested_relay(channel)
            if relay is None or not relay.attach(channel):
                await channel.send({"type": "refused", "occupied": relay is not None})
                return
            await channel.send({"type": "joined"})  # written before anything else can be: who carries has not run yet
            await relay.told.wait()
        except (ChannelClosed, TimeoutError):
            pass
        finally:
            await channel.close()

    async def _requested_relay(self, channel: StreamChannel) -> Relay | None:
        async with asyncio.timeout(MEET_SECONDS):
            asked = await channel.receive()
        if not isinstance(asked, dict):
            return None
        terminal_id = str(asked.get("terminal_id"))
        relay = self.relays.get(terminal_id)
        if relay is None or not self._verify_proof(terminal_id, str(asked.get("proof"))):
            return None
        return relay

    def _proof(self, terminal_id: str) -> str:
        proof_content = orjson.dumps({"terminal_id": terminal_id, "at": self._platform.clock().timestamp()})
        return self._platform.sealer.seal(proof_content, PURPOSE).hex()

    def _verify_proof(self, terminal_id: str, proof: str) -> bool:
        with suppress(ValueError, InvalidTag, orjson.JSONDecodeError):
            proof_content = orjson.loads(self._platform.sealer.open(bytes.fromhex(proof), PURPOSE))
            age = abs(self._platform.clock().timestamp() - proof_content["at"])
            return bool(proof_content["terminal_id"] == terminal_id and age <= PROOF_LIFE.total_seconds())
        return False

    async def _client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata="".join(await pki.trusted_pems(self._platform)))


def _is_local(host: str) -> bool:
    return host.startswith(LOOPBACK)
