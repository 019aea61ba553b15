"""Listening sockets: each connection is counted, and gets its client's address, before TLS and HTTP begin.

Connections are accepted here and not by the loop's own server: that one does not know a connection until its TLS handshake is
over, has no place for PROXY headers, and reports nothing when it runs out of files.
"""

import asyncio
import logging
import os
import socket
import ssl
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import uvicorn

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.connections import MOST_REFUSALS_AT_ONCE, Connection, ConnectionTable
from gpuaas_server.kernel.http.protocol import BoundedHttpProtocol, RequestBounds
from gpuaas_server.kernel.http.proxy_protocol import ProxyHeaderInvalid, read_proxy_header
from gpuaas_server.kernel.networks import Networks, normal_address

ACCEPTED_AT_ONCE = 128
# When even the spare file does not help, the kernel's queue keeps what comes for so long.
PAUSE_SECONDS = 0.5
COMPLAINT_SECONDS = 60.0
DATE_SECONDS = 1.0  # answers carry the date
_RESET = struct.pack("ii", 1, 0)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ListenerLimits:
    """Holds what all listeners of a process share."""

    table: ConnectionTable
    bounds: RequestBounds
    proxy_protocol: Networks
    trusted_proxies: Networks


class Acceptor:
    """Accepts the connections of one listening socket. uvicorn calls `server.close()` and `wait_closed()` at the end."""

    def __init__(self, sock: socket.socket, limits: ListenerLimits, server: "Listener") -> None:
        self._sock = sock
        self._limits = limits
        self._server = server
        self._loop = asyncio.get_running_loop()
        self._arriving: set[asyncio.Task[None]] = set()
        self._spare: int | None = os.open(os.devnull, os.O_RDONLY)
        self._complained_at = float("-inf")
        self._closed = False
        sock.setblocking(False)
        self._loop.add_reader(sock.fileno(), self._accept)

    def close(self) -> None:
        self._closed = True
        self._loop.remove_reader(self._sock.fileno())
        for task in self._arriving:
            task.cancel()
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None

    async def wait_closed(self) -> None:
        await asyncio.gather(*self._arriving, return_exceptions=True)

    def _accept(self) -> None:
        for _ in range(ACCEPTED_AT_ONCE):
            try:
                sock, peer = self._sock.accept()
            except BlockingIOError:
                return
            except ConnectionError:
                continue  # gone again
            except OSError as error:
                if not self._cut_one_off(error):
                    return
            else:
                self._take(sock, peer)

    def _cut_one_off(self, error: OSError) -> bool:
        """Close a connection for which no file is left by way of the spare one, so that its client need not wait."""
        metrics.connections_refused.labels("out_of_files").inc()
        if time.monotonic() - self._complained_at > COMPLAINT_SECONDS:
            self._complained_at = time.monotonic()
            log.error("no connection can be taken", extra={"error": str(error)})
        if self._spare is not None:
            os.close(self._spare)
            self._spare = None
            with suppress(OSError):
                self._sock.accept()[0].close()
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY)
                return True
        self._loop.remove_reader(self._sock.fileno())
        self._loop.call_later(PAUSE_SECONDS, self._resume)
        return False

    def _resume(self) -> None:
        if self._closed:
            return
        if self._spare is None:
            with suppress(OSError):
                self._spare = os.open(os.devnull, os.O_RDONLY)
        self._loop.add_reader(self._sock.fileno(), self._accept)

    def _take(self, sock: socket.socket, peer: tuple[str, int]) -> None:
        sock.setblocking(False)
        connection = Connection((normal_address(peer[0]), peer[1]))
        table = self._limits.table
        table.add(connection)
        speaks_for_others = connection.client[0] in self._limits.proxy_protocol
        if not speaks_for_others and connection.client[0] not in self._limits.trusted_proxies:
            table.identify(connection)
        if connection.refusal is not None and table.refusing > MOST_REFUSALS_AT_ONCE:
            _cut_off(sock, connection)
            return
        task = self._loop.create_task(self._arrive(sock, connection, speaks_for_others))
        self._arriving.add(task)
        task.add_done_callback(self._arriving.discard)
        connection.evict = task.cancel

    async def _arrive(self, sock: socket.socket, connection: Connection, speaks_for_others: bool) -> None:
        reason = "tls_handshake"
        try:
            async with asyncio.timeout(self._limits.bounds.header_seconds):
                if speaks_for_others:
                    reason = "proxy_header"
                    await self._identify(sock, connection)
                    reason = "tls_handshake"
                await self._start(sock, connection)
        except (OSError, ssl.SSLError, TimeoutError, ProxyHeaderInvalid, asyncio.CancelledError) as error:
            if connection.table is not None and not isinstance(error, asyncio.CancelledError):
                metrics.connections_refused.labels(reason).inc()
            _cut_off(sock, connection)

    async def _identify(self, sock: socket.socket, connection: Connection) -> None:
        client = await read_proxy_header(sock)
        if client is not None:
            connection.client = client
        if connection.client[0] not in self._limits.trusted_proxies:
            self._limits.table.identify(connection)

    async def _start(self, sock: socket.socket, connection: Connection) -> None:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        config, bounds = self._server.config, self._limits.bounds
        await self._loop.connect_accepted_socket(
            lambda: BoundedHttpProtocol(config, self._server.server_state, connection, bounds),
            sock,
            ssl=config.ssl,
            ssl_handshake_timeout=bounds.header_seconds if config.ssl is not None else None,
        )


def _cut_off(sock: socket.socket, connection: Connection) -> None:
    """Reset the connection: nothing is sent, and the kernel keeps nothing of it."""
    connection.evict = None
    connection.close()
    with suppress(OSError):
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    sock.close()


class Listener(uvicorn.Server):
    """One listening socket of a process that may have several; the process handles its signals itself."""

    def __init__(self, config: uvicorn.Config, limits: ListenerLimits) -> None:
        super().__init__(config)
        self._limits = limits
        self._ending = asyncio.Event()

    def end(self) -> None:
        """Accept nothing new, and let running requests end."""
        self.should_exit = True
        self._ending.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.servers = [Acceptor(sock, self._limits, self) for sock in sockets or []]  # type: ignore[misc]
        self.started = True

    async def main_loop(self) -> None:
        """Wait until told to end. uvicorn's own loop looks ten times a second."""
        while not await self.on_tick(0):
            with suppress(TimeoutError):
                async with asyncio.timeout(DATE_SECONDS):
                    await self._ending.wait()
