"""The api process: one application on a loopback HTTP listener and, for everybody else, an HTTPS one."""

import asyncio
import gc
import logging
import signal
import socket
import ssl
from functools import partial

import uvicorn
import uvloop
from starlette.types import ASGIApp

from gpuaas_server.access import keys
from gpuaas_server.access.tls import TlsFiles
from gpuaas_server.app import build_app
from gpuaas_server.identity.signing_keys import ensure_signing_key
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.http.connections import ConnectionLimits, ConnectionTable
from gpuaas_server.kernel.http.forwarded import ForwardedClient
from gpuaas_server.kernel.http.listener import Entrance, Listener
from gpuaas_server.kernel.http.protocol import BoundedHttpProtocol, RequestBounds
from gpuaas_server.kernel.http.websocket import BoundedWebSocketProtocol
from gpuaas_server.kernel.networks import Networks
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.processes.certificates import Renew, https_certificate, keep_renewing, renew_https
from gpuaas_server.processes.early_answers import EarlyAnswers
from gpuaas_server.processes.file_limit import connection_limit
from gpuaas_server.runtime import running_platform
from gpuaas_server.secrets.private_keys import await_store
from gpuaas_server.terminals.lines import LONGEST

SHUTDOWN_SECONDS = 5
KEEP_ALIVE_SECONDS = 75
# How long a WebSocket may owe the answer to a ping. The answer comes behind all output that is under way, and that waits
# for who reads slowly: a terminal must not end for it. Who is dead with nothing under way is noticed by this, and with
# something under way by the terminal's own clocks: then nothing is shown any more, and it ends as idle.
PONG_SECONDS = 180.0
NEW_GARBAGE_SECONDS = 1.0
ALL_GARBAGE_SECONDS = 600.0
LOOPBACK = ("127.", "localhost", "[::1]", "::1")


log = logging.getLogger(__name__)


def _address(bind: str) -> tuple[str, int]:
    host, _, port = bind.rpartition(":")
    return host.strip("[]"), int(port)


def _socket(bind: str) -> socket.socket:
    """A listening socket that several api processes may share."""
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


def _entrance(settings: Settings) -> Entrance:
    """The bounds of everything that comes in, whichever listener it comes to."""
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
    return Entrance(table, bounds, Networks(settings.proxy_protocol_peers), Networks(settings.trusted_proxies))


def _config(app: ASGIApp, tls: TlsFiles | None) -> uvicorn.Config:
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
        ssl_certfile=str(tls.chain_path) if tls else None,
    )
    config.load()
    if config.ssl is not None:
        config.ssl.minimum_version = ssl.TLSVersion.TLSv1_2
    return config


def _served(app: ASGIApp, entrance: Entrance) -> ASGIApp:
    return ForwardedClient(app, entrance.trusted_proxies) if entrance.trusted_proxies else app


def _http_listeners(settings: Settings, app: ASGIApp, entrance: Entrance) -> list[tuple[Listener, socket.socket]]:
    """They need nothing from the database, so that they answer while it is waited for."""
    if not settings.http_bind:
        return []
    if not settings.http_bind.startswith(LOOPBACK):
        raise StartFailed("GPUAAS_HTTP_BIND is plain HTTP and takes loopback addresses only; use GPUAAS_HTTPS_BIND")
    return [(Listener(_config(app, None), entrance), _socket(settings.http_bind))]


async def _https_listeners(
    platform: Platform, app: ASGIApp, entrance: Entrance
) -> list[tuple[Listener, socket.socket]]:
    settings = platform.settings
    if not settings.https_bind:
        return []
    config = _config(app, await https_certificate(platform))
    return [(Listener(config, entrance), _socket(settings.https_bind))]


async def _collect_garbage() -> None:
    """Until cancelled: Python's collector by the clock instead of by counts.

    Counts fail here: ten thousand polls live for half a minute, so as many old objects go as new ones come, no threshold
    is reached for minutes, and then one collection walks a million objects while everybody waits. New objects are
    looked at every second and in small numbers; all of them, which takes a good part of a second, seldom.
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
    """Every key that this process signs with: once, so that no signature waits for the secret store."""
    await keys.ensure_keys(platform)
    await ensure_signing_key(platform)


async def serve(settings: Settings) -> None:
    front = EarlyAnswers()
    entrance = _entrance(settings)
    served = _served(front, entrance)
    listeners = _http_listeners(settings, served, entrance)
    servers = [asyncio.create_task(listener.serve([sock])) for listener, sock in listeners]
    async with running_platform(settings, front.watch) as platform:
        app = build_app(platform)
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        await await_store(partial(_open_keys, platform))
        secure = await _https_listeners(platform, served, entrance)
        listeners += secure
        async with app.state.agent_gate.running(), app.state.gate.running(), app.state.terminals.running():
            front.app = app
            servers += [asyncio.create_task(listener.serve([sock])) for listener, sock in secure]
            contexts = [listener.config.ssl for listener, _ in listeners if listener.config.ssl is not None]
            renew: list[tuple[str, Renew]] = [("peer", app.state.terminals.renew_certificate)]
            renew += [("https", partial(renew_https, platform, one)) for one in contexts]
            upkeep = [asyncio.create_task(keep_renewing(platform, *one)) for one in renew]
            upkeep.append(asyncio.create_task(_collect_garbage()))
            ended = asyncio.create_task(stopping.wait())
            await asyncio.wait([*servers, ended], return_when=asyncio.FIRST_COMPLETED)
            platform.wakeups.end_waits()
            for listener, _ in listeners:
                listener.should_exit = True
            await asyncio.gather(*servers, return_exceptions=True)
            for task in [*upkeep, ended]:
                task.cancel()


def run(settings: Settings) -> None:
    uvloop.run(serve(settings))
