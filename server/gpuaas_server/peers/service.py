"""The listener of this process for its peers, and how it calls another one.

What a call is about is a service that the callee offers: a kind and a subject. See docs/decisions/0021 and 0039.
"""

import asyncio
import logging
import secrets
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime, timedelta

import orjson
from cryptography.exceptions import InvalidTag

from gpuaas_server.kernel.context import Platform
from gpuaas_server.peers.channels import LONGEST, Channel, ChannelClosed, Message, StreamChannel, small_message
from gpuaas_server.pki import service as pki

__all__ = ["LONGEST", "Channel", "ChannelClosed", "Message", "PeerServer", "StreamChannel", "small_message"]

PURPOSE = "peer call"
PROOF_LIFE = timedelta(seconds=30)
MEET_SECONDS = 5.0
LOOPBACK = ("127.", "::1")
log = logging.getLogger(__name__)

Service = Callable[[str, StreamChannel], Awaitable[None]]  # (subject, channel); it answers, and returns when it is over


class PeerServer:
    """Serves other api processes. `address` names this very process: a later one on the same port is another process."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._directory = platform.settings.data_dir / "peer-tls"
        self._mark = secrets.token_hex(6)
        self._listens_at = ""
        self._context: ssl.SSLContext | None = None  # beyond loopback
        self._services: dict[str, Service] = {}

    @property
    def address(self) -> str:
        return f"{self._listens_at}/{self._mark}"

    def offer(self, kind: str, service: Service) -> None:
        """Answer calls of this kind by the service."""
        self._services[kind] = service

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        host, _, port = self._platform.settings.peer_bind.rpartition(":")
        host = host.strip("[]")
        self._context = None if _is_local(host) else ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        await self._open_certificate()
        server = await asyncio.start_server(self._accept_peer, host, int(port), ssl=self._context, limit=LONGEST)
        self._listens_at = f"{host}:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()

    async def _open_certificate(self) -> None:
        """Use the current certificate, or that of the last run where a new one cannot be stored."""
        try:
            await self._platform.database.health.until_available(self.renew_certificate)
        except OSError:
            stored = pki.server_files(self._directory).chain_path
            if self._context is None or not stored.exists():
                raise
            self._context.load_cert_chain(stored)

    async def renew_certificate(self) -> datetime | None:
        """Renew the listener's certificate where needed, and return when it ends."""
        if self._context is None:
            return None
        host = self._platform.settings.peer_bind.rpartition(":")[0].strip("[]")
        files = await pki.ensure_server_certificate(self._platform, [host], self._directory)
        self._context.load_cert_chain(files.chain_path)
        return files.expiry()

    async def call(self, address: str, kind: str, subject: str) -> tuple[StreamChannel, Message]:
        """Call a service of another process; return the channel and its first answer, or raise ChannelClosed."""
        host, _, port = address.partition("/")[0].rpartition(":")
        context = None if _is_local(host) else await self._client_context()
        try:
            async with asyncio.timeout(MEET_SECONDS):
                reader, writer = await asyncio.open_connection(host, int(port), ssl=context, limit=LONGEST)
                channel = StreamChannel(reader, writer)
                return channel, await self._request_subject(channel, kind, subject)
        except (OSError, TimeoutError, ValueError) as error:
            log.warning("another api process cannot be reached; see GPUAAS_PEER_BIND", extra={"peer": address})
            raise ChannelClosed from error

    async def _request_subject(self, channel: StreamChannel, kind: str, subject: str) -> Message:
        """Ask for the subject, and return the answer. The channel is closed if this fails."""
        try:
            await channel.send({"kind": kind, "subject": subject, "proof": self._proof(kind, subject)})
            return await channel.receive()
        except BaseException:
            channel.drop()
            raise

    async def _accept_peer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        channel = StreamChannel(reader, writer)
        try:
            asked = await self._requested(channel)
            if asked is None:
                await channel.send({"type": "refused"})
                return
            service, subject = asked
            await service(subject, channel)
        except (ChannelClosed, TimeoutError):
            pass
        finally:
            await channel.close()

    async def _requested(self, channel: StreamChannel) -> tuple[Service, str] | None:
        async with asyncio.timeout(MEET_SECONDS):
            asked = await channel.receive()
        if not isinstance(asked, dict):
            return None
        kind, subject = str(asked.get("kind")), str(asked.get("subject"))
        service = self._services.get(kind)
        if service is None or not self._verify_proof(kind, subject, str(asked.get("proof"))):
            return None
        return service, subject

    def _proof(self, kind: str, subject: str) -> str:
        content = orjson.dumps({"kind": kind, "subject": subject, "at": self._platform.clock().timestamp()})
        return self._platform.sealer.seal(content, PURPOSE).hex()

    def _verify_proof(self, kind: str, subject: str, proof: str) -> bool:
        with suppress(ValueError, InvalidTag, orjson.JSONDecodeError):
            content = orjson.loads(self._platform.sealer.open(bytes.fromhex(proof), PURPOSE))
            age = abs(self._platform.clock().timestamp() - content["at"])
            same = content["kind"] == kind and content["subject"] == subject
            return bool(same and age <= PROOF_LIFE.total_seconds())
        return False

    async def _client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata="".join(await pki.trusted_pems(self._platform)))


def _is_local(host: str) -> bool:
    return host.startswith(LOOPBACK)
