"""The api process: one application on a loopback HTTP listener and, for everybody else, an HTTPS one."""

import asyncio
import gc
import logging
import signal
import socket
from dataclasses import dataclass
from functools import partial

import uvicorn
import uvloop
from starlette.types import ASGIApp

from gpuaas_server.app import build_app
from gpuaas_server.identity.signing_keys import ensure_signing_key
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.http.connections import ConnectionLimits, ConnectionTable
from gpuaas_server.kernel.http.listener import Listener, ListenerLimits
from gpuaas_server.kernel.http.protocol import BoundedHttpProtocol, RequestBounds
from gpuaas_server.kernel.http.proxy_headers import ForwardedClient
from gpuaas_server.kernel.http.websocket import BoundedWebSocketProtocol
from gpuaas_server.kernel.networks import Networks
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.pki import service as pki
from gpuaas_server.processes.certificates import keep_renewing, renew_once
from gpuaas_server.processes.early_answers import EarlyAnswers
from gpuaas_server.processes.file_limit import connection_limit
from gpuaas_server.processes.https import HttpsAddress, HttpsContext, https_addresses
from gpuaas_server.processes.release import await_release
from gpuaas_server.runtime import running_platform
from gpuaas_server.secrets.private_keys import await_store
from gpuaas_server.terminals.channels import LONGEST

SHUTDOWN_SECONDS = 5
KEEP_ALIVE_SECONDS = 75
# How long a WebSocket may take to answer a ping. The answer comes after all output that is under way, and a slow reader
# delays it: that must not end a terminal. This limit detects a dead client when no output is under way. With output under
# way, the terminal's own clocks detect it: nothing is shown any more, and the terminal ends as idle.
PONG_SECONDS = 180.0
NEW_GARBAGE_SECONDS = 1.0
ALL_GARBAGE_SECONDS = 600.0
LOOPBACK = ("127.", "localhost", "[::1]", "::1")


log = logging.getLogger(__name__)


def _address(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


def _socket(bind: str) -> socket.socket:
    """Return a listening socket that several api processes may share."""
    host, port = _address(bind)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        raise StartFailed(
            f"{bind} cannot be listened on ({error.strerror}); free it, or choose another address"
        ) from error
    listener.listen(4096)
    return listener


def _listener_limits(settings: Settings) -> ListenerLimits:
    """Return the bounds of everything that comes in, whichever listener it comes to."""
    limits = ConnectionLimits(
        connection_limit(settings.max_connections, settings.pool_size),
        settings.max_unauthenticated_connections,
        settings.unauthenticated_connections_per_address,
    )
    table = ConnectionTable(limits)
    metrics.connection_limit.set(limits.connections)
    metrics.connections.labels("unauthenticated").set_function(lambda: table.unauthenticated)
    metrics.connections.labels("authenticated").set_function(lambda: table.open - table.unauthenticated)
    bounds = RequestBounds(
        settings.max_header_bytes,
        settings.header_seconds,
        settings.body_seconds,
        settings.max_body_bytes,
        settings.idle_seconds,
        KEEP_ALIVE_SECONDS,
    )
    return ListenerLimits(table, bounds, Networks(settings.proxy_protocol_peers), Networks(settings.trusted_proxies))


def _config(app: ASGIApp) -> uvicorn.Config:
    config = uvicorn.Config(
        app,
        lifespan="off",
        access_log=False,
        log_config=None,
        server_header=False,
        proxy_headers=False,  # see ForwardedClient
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        backlog=4096,
        http=BoundedHttpProtocol,
        ws=BoundedWebSocketProtocol,
        ws_max_size=LONGEST,
        ws_ping_timeout=PONG_SECONDS,
        ws_per_message_deflate=False,  # costs more time for each keystroke than it saves
    )
    config.load()
    return config


def _served(app: ASGIApp, listener_limits: ListenerLimits) -> ASGIApp:
    return ForwardedClient(app, listener_limits.trusted_proxies) if listener_limits.trusted_proxies else app


@dataclass(slots=True)
class _Https:
    """An HTTPS listener, which can listen once its context has a certificate."""

    address: HttpsAddress
    context: HttpsContext
    listener: Listener


class _Listeners:
    """All listeners of the process. Those that can listen before there is a database do, and answer what is waited for."""

    def __init__(self, settings: Settings, app: ASGIApp, listener_limits: ListenerLimits) -> None:
        self.listening: list[Listener] = []
        self.servers: list[asyncio.Task[None]] = []
        if settings.http_bind:
            if not settings.http_bind.startswith(LOOPBACK):
                raise StartFailed(
                    "GPUAAS_HTTP_BIND is plain HTTP and takes loopback addresses only; use GPUAAS_HTTPS_BIND"
                )
            self._listen(Listener(_config(app), listener_limits), settings.http_bind)
        self.https: list[_Https] = []
        for address in https_addresses(settings):
            config = _config(app)
            one = _Https(address, HttpsContext(address, config, settings), Listener(config, listener_limits))
            self.https.append(one)
            if one.context.load_stored():
                self._listen(one.listener, address.bind)

    def _listen(self, listener: Listener, bind: str) -> None:
        self.listening.append(listener)
        self.servers.append(asyncio.create_task(listener.serve([_socket(bind)])))

    async def renew(self, platform: Platform) -> None:
        """Give every HTTPS listener its current certificate; those that had none begin to listen.

        One that listens by the certificate of the last run goes on with it where the new one cannot be stored.
        """
        for one in self.https:
            renew = partial(platform.database.health.until_available, one.context.renewal(platform))
            if one.listener in self.listening:
                await renew_once(platform, one.address.name, renew)
            else:
                await renew()
                self._listen(one.listener, one.address.bind)

    async def close(self) -> None:
        for listener in self.listening:
            listener.end()
        await asyncio.gather(*self.servers, return_exceptions=True)


async def _collect_garbage() -> None:
    """Run Python's garbage collector by the clock instead of by counts, until cancelled.

    Counts fail here: ten thousand polls live for half a minute, so objects end as fast as new ones are made. No threshold
    is reached for minutes; then one collection walks a million objects while all requests wait. Here, the few new objects
    are collected every second. All objects, which takes a good part of a second, are collected seldom.
    """
    gc.collect()
    gc.freeze()  # what start-up made lives as long as the process
    gc.set_threshold(200_000, 1_000, 1_000)
    while True:
        for _ in range(int(ALL_GARBAGE_SECONDS / NEW_GARBAGE_SECONDS)):
            await asyncio.sleep(NEW_GARBAGE_SECONDS)
            gc.collect(0)
        gc.collect()


async def _open_keys(platform: Platform) -> None:
    """Open every key that this process signs with, once, so that no signature waits for the secret store."""
    await pki.ensure_keys(platform)
    await ensure_signing_key(platform)


async def serve(settings: Settings, paused: bool = False) -> None:
    front = EarlyAnswers()
    listener_limits = _listener_limits(settings)
    listeners = _Listeners(settings, _served(front, listener_limits), listener_limits)
    if paused:
        await await_release(front.say)
    async with running_platform(settings, front.watch) as platform:
        app = build_app(platform)
        open_keys = partial(_open_keys, platform)
        await await_store(partial(platform.database.health.until_available, open_keys))
        async with app.state.agent_gate.running(), app.state.gate.running(), app.state.terminals.running():
            await listeners.renew(platform)
            stopping = asyncio.Event()  # from here on: a signal ends a process that still waits at once
            for number in (signal.SIGTERM, signal.SIGINT):
                asyncio.get_running_loop().add_signal_handler(number, stopping.set)
            front.app = app  # only now: ready means that HTTPS is answered, too
            upkeep = [asyncio.create_task(keep_renewing(platform, "peer", app.state.terminals.renew_certificate))]
            for one in listeners.https:
                renewal = one.context.renewal(platform)
                upkeep.append(asyncio.create_task(keep_renewing(platform, one.address.name, renewal)))
            upkeep.append(asyncio.create_task(_collect_garbage()))
            ended = asyncio.create_task(stopping.wait())
            await asyncio.wait([*listeners.servers, ended], return_when=asyncio.FIRST_COMPLETED)
            platform.wakeups.end_waits()
            await listeners.close()
            for task in [*upkeep, ended]:
                task.cancel()


def run(settings: Settings, paused: bool = False) -> None:
    """Run the api. A `paused` one listens, and uses the database only once its parent process releases it (release.py)."""
    uvloop.run(serve(settings, paused))
