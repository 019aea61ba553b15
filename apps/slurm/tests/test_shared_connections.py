"""Operations of one cluster share a connection to its head node, and none closes a connection that is in use."""

import asyncio
from typing import cast

import pytest

from gpuaas_sdk.controller import Host, HostUnreachable
from gpuaas_sdk.controller.failures import Interrupted, LeaseLost
from gpuaas_slurm.shared_connections import SharedConnections


class Connection:
    def __init__(self, name: str, works: bool = True) -> None:
        self.name, self.works = name, works

    @property
    def host(self) -> Host:
        return cast(Host, self)


async def name(host: Host) -> str:
    connection = cast(Connection, host)
    await asyncio.sleep(0)
    if not connection.works:
        raise HostUnreachable(connection.name, "closed")
    return connection.name


async def test_the_used_connection_stays_the_same_until_its_owner_ends_and_then_the_newest_is_used() -> None:
    connections, first, second, third = (
        SharedConnections(),
        Connection("first"),
        Connection("second"),
        Connection("third"),
    )
    async with connections.share("here", second.host):
        async with connections.share("here", first.host):
            assert await connections.run("here", third.host, name) == "first"
            async with connections.share("here", third.host):
                assert await connections.run("here", second.host, name) == "first"
        assert await connections.run("here", third.host, name) == "second"
        assert await connections.run("elsewhere", third.host, name) == "third"
    assert await connections.run("here", third.host, name) == "third"
    assert (connections._shared, connections._used) == ({}, {})  # nothing is left of unused targets


async def test_an_owner_waits_for_calls_that_use_its_connection() -> None:
    connections, owner, finish, started = SharedConnections(), Connection("owner"), asyncio.Event(), asyncio.Event()

    async def slow(host: Host) -> str:
        started.set()
        await finish.wait()
        return cast(Connection, host).name

    async def work() -> None:
        async with connections.share("here", owner.host):
            await started.wait()

    ending = asyncio.create_task(work())
    await asyncio.sleep(0)
    user = asyncio.create_task(connections.run("here", Connection("user").host, slow))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not ending.done()
    finish.set()
    assert await user == "owner"
    await ending


async def test_a_broken_shared_connection_is_replaced_by_the_own_one() -> None:
    connections, broken, own = SharedConnections(), Connection("broken", works=False), Connection("own")
    async with connections.share("here", broken.host):
        assert await connections.run("here", own.host, name) == "own"
        with pytest.raises(HostUnreachable):
            await connections.run("here", broken.host, name)


@pytest.mark.parametrize("end", [LeaseLost, Interrupted])
async def test_the_end_of_the_owners_operation_does_not_affect_other_operations(end: type[BaseException]) -> None:
    connections, owner, own = SharedConnections(), Connection("owner"), Connection("own")

    async def ended(host: Host) -> str:
        if host is owner.host:
            raise end
        return await name(host)

    async with connections.share("here", owner.host):
        assert await connections.run("here", own.host, ended) == "own"
        with pytest.raises(end):
            await connections.run("here", owner.host, ended)
