"""Who watches over a person's stream, and how two processes meet: rights that change, lines to nobody, certificates."""

import asyncio
import ssl
from contextlib import suppress
from datetime import timedelta

import psycopg
import pytest

from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import Platform
from gpuaas_server.terminals import viewer
from gpuaas_server.terminals.channels import ChannelClosed
from gpuaas_server.terminals.relay_server import RelayServer
from tests_support.agents import MovableClock

SECONDS = 10.0


async def looks_at_rights(platform: Platform, first: bool | Exception) -> int:
    """How often it is looked, where rights change during the first look and are gone at the second."""
    looks = 0

    async def still_there() -> bool:
        nonlocal looks
        looks += 1
        if looks == 1:
            platform.wakeups.wake(identity.TOPIC)
            if isinstance(first, Exception):
                raise first
        return looks == 1

    async with asyncio.timeout(viewer.RIGHTS_SECONDS / 2):
        await viewer._wait_for_lost_access(platform, still_there)
    return looks


async def test_rights_that_change_during_a_look_are_looked_at_again(platform: Platform) -> None:
    assert await looks_at_rights(platform, first=True) == 2


async def test_an_unreachable_database_takes_no_rights_away(platform: Platform) -> None:
    assert await looks_at_rights(platform, first=psycopg.OperationalError("the connection is lost")) == 2


async def test_a_process_that_answers_nothing_is_not_kept_a_line_to(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gpuaas_server.peers.service.MEET_SECONDS", 0.2)
    left = asyncio.Event()

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            await reader.read()  # to its end
        left.set()
        writer.close()

    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    async with server, asyncio.timeout(SECONDS):
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ChannelClosed):
            await RelayServer(platform).dial(f"127.0.0.1:{port}/x", "trm_01jb2c3d4e5f6g7h8j9kamnpqr")
        await left.wait()


async def test_the_certificate_between_processes_is_renewed_while_they_listen(
    platform: Platform, clock: MovableClock
) -> None:
    platform.settings = platform.settings.model_copy(update={"peer_bind": "0.0.0.0:0"})
    relay_server = RelayServer(platform)
    async with relay_server.running():
        port = int(relay_server.address.partition("/")[0].rpartition(":")[2])

        async def shown() -> str:
            return await asyncio.to_thread(ssl.get_server_certificate, ("127.0.0.1", port))

        first = await shown()
        await relay_server.renew_certificate()
        assert await shown() == first
        clock.ahead += timedelta(days=80)
        await relay_server.renew_certificate()
        assert await shown() != first
