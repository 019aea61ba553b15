"""Where the two streams of a terminal meet when they came to different api processes.

The process with the host's stream holds the terminal and listens here; the one with the person's finds its address in the
row, comes, and shows by a proof under the master key that it is one of us. See docs/decisions/0021.
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
from gpuaas_server.terminals.carrying import Carrier
from gpuaas_server.terminals.lines import LONGEST, LineGone, Message, StreamLine

PURPOSE = "terminal crossing"
PROOF_LIFE = timedelta(seconds=30)
MEET_SECONDS = 5.0
LOOPBACK = ("127.", "::1")
log = logging.getLogger(__name__)


class Occupied(LineGone):
    """The holder lives, and somebody is at the terminal already."""


class Desk:
    """`address` names this very process: another one on the same port later is another holder."""

    def __init__(self, platform: Platform) -> None:
        self.carriers: dict[str, Carrier] = {}
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
        server = await asyncio.start_server(self._meet, host, int(port), ssl=self._context, limit=LONGEST)
        self._listens_at = f"{host}:{server.sockets[0].getsockname()[1]}"
        try:
            yield
        finally:
            server.close()

    async def renew_certificate(self) -> datetime | None:
        """Now and then: who comes next meets one that is valid, however long we have been listening. When it ends."""
        if self._context is None:
            return None
        host = self._platform.settings.peer_bind.rpartition(":")[0].strip("[]")
        directory = self._platform.settings.data_dir / "peer-tls"
        files = await pki.ensure_server_certificate(self._platform, [host], directory)
        self._context.load_cert_chain(files.chain_path)
        return files.expiry()

    async def dial(self, address: str, terminal_id: str) -> StreamLine:
        """A line to the process that holds the terminal. Occupied, or LineGone when nobody there knows of it."""
        host, _, port = address.partition("/")[0].rpartition(":")
        context = None if _is_local(host) else await self._client_context()
        try:
            async with asyncio.timeout(MEET_SECONDS):
                reader, writer = await asyncio.open_connection(host, int(port), ssl=context, limit=LONGEST)
                line = StreamLine(reader, writer)
                answer = await self._introduced(line, terminal_id)
        except (OSError, TimeoutError, ValueError) as error:
            log.warning("the holder of a terminal cannot be reached; see GPUAAS_PEER_BIND", extra={"holder": address})
            raise LineGone from error
        if not isinstance(answer, dict) or answer.get("type") != "joined":
            await line.close()
            raise Occupied if isinstance(answer, dict) and answer.get("occupied") else LineGone
        return line

    async def _introduced(self, line: StreamLine, terminal_id: str) -> Message:
        """What the other process answers. A line that comes to nothing is not left open."""
        try:
            await line.send({"terminal_id": terminal_id, "proof": self._proof(terminal_id)})
            return await line.receive()
        except BaseException:
            line.drop()
            raise

    async def _meet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        line = StreamLine(reader, writer)
        try:
            carrier = await self._asked_for(line)
            if carrier is None or not carrier.attach(line):
                await line.send({"type": "refused", "occupied": carrier is not None})
                return
            await line.send({"type": "joined"})  # written before anything else can be: who carries has not run yet
            await carrier.told.wait()
        except (LineGone, TimeoutError):
            pass
        finally:
            await line.close()

    async def _asked_for(self, line: StreamLine) -> Carrier | None:
        async with asyncio.timeout(MEET_SECONDS):
            asked = await line.receive()
        if not isinstance(asked, dict):
            return None
        terminal_id = str(asked.get("terminal_id"))
        carrier = self.carriers.get(terminal_id)
        if carrier is None or not self._believes(terminal_id, str(asked.get("proof"))):
            return None
        return carrier

    def _proof(self, terminal_id: str) -> str:
        said = orjson.dumps({"terminal_id": terminal_id, "at": self._platform.clock().timestamp()})
        return self._platform.sealer.seal(said, PURPOSE).hex()

    def _believes(self, terminal_id: str, proof: str) -> bool:
        with suppress(ValueError, InvalidTag, orjson.JSONDecodeError):
            said = orjson.loads(self._platform.sealer.open(bytes.fromhex(proof), PURPOSE))
            age = abs(self._platform.clock().timestamp() - said["at"])
            return bool(said["terminal_id"] == terminal_id and age <= PROOF_LIFE.total_seconds())
        return False

    async def _client_context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cadata="".join(await pki.trusted_pems(self._platform)))


def _is_local(host: str) -> bool:
    return host.startswith(LOOPBACK)
