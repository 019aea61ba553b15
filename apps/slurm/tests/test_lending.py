"""Operations of one cluster share a way to its controller: nobody is left without one, and nobody shuts one that is in use."""

import asyncio
from typing import cast

import pytest

from gpuaas_sdk.controller import Host, HostUnreachable
from gpuaas_sdk.controller.failures import Interrupted, LeaseLost
from gpuaas_slurm.lending import Ways


class Way:
    def __init__(self, name: str, leads: bool = True) -> None:
        self.name, self.leads = name, leads

    @property
    def host(self) -> Host:
        return cast(Host, self)


async def name(host: Host) -> str:
    way = cast(Way, host)
    await asyncio.sleep(0)
    if not way.leads:
        raise HostUnreachable(way.name, "closed")
    return way.name


async def test_the_way_that_is_used_stays_the_one_until_its_owner_leaves_and_then_the_last_comer_lends() -> None:
    ways, first, second, third = Ways(), Way("first"), Way("second"), Way("third")
    async with ways.lent("here", second.host):
        async with ways.lent("here", first.host):
            assert await ways.ask("here", third.host, name) == "first"
            async with ways.lent("here", third.host):
                assert await ways.ask("here", second.host, name) == "first"
        assert await ways.ask("here", third.host, name) == "second"
        assert await ways.ask("elsewhere", third.host, name) == "third"
    assert await ways.ask("here", third.host, name) == "third"
    assert (ways._lent, ways._used) == ({}, {})  # nothing is kept of places that nobody works on


async def test_who_leaves_waits_for_whoever_uses_its_way() -> None:
    ways, lender, told, asked = Ways(), Way("lender"), asyncio.Event(), asyncio.Event()

    async def slow(host: Host) -> str:
        asked.set()
        await told.wait()
        return cast(Way, host).name

    async def work() -> None:
        async with ways.lent("here", lender.host):
            await asked.wait()

    leaving = asyncio.create_task(work())
    await asyncio.sleep(0)
    guest = asyncio.create_task(ways.ask("here", Way("guest").host, slow))
    for _ in range(5):
        await asyncio.sleep(0)
    assert not leaving.done()
    told.set()
    assert await guest == "lender"
    await leaving


async def test_where_anothers_way_does_not_lead_any_more_ones_own_does() -> None:
    ways, broken, own = Ways(), Way("broken", leads=False), Way("own")
    async with ways.lent("here", broken.host):
        assert await ways.ask("here", own.host, name) == "own"
        with pytest.raises(HostUnreachable):
            await ways.ask("here", broken.host, name)


@pytest.mark.parametrize("end", [LeaseLost, Interrupted])
async def test_how_the_lenders_operation_ended_is_none_of_the_guests(end: type[BaseException]) -> None:
    ways, lender, own = Ways(), Way("lender"), Way("own")

    async def ended(host: Host) -> str:
        if host is lender.host:
            raise end
        return await name(host)

    async with ways.lent("here", lender.host):
        assert await ways.ask("here", own.host, ended) == "own"
        with pytest.raises(end):
            await ways.ask("here", lender.host, ended)
