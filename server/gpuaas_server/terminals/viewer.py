"""The person's stream: find the terminal's holder, join it, and end the stream when the person's access ends."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg

from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.tasks import stop
from gpuaas_server.kernel.wakeups import PollResult
from gpuaas_server.terminals import holder_lease, service
from gpuaas_server.terminals.channels import Channel, ChannelClosed, StreamChannel
from gpuaas_server.terminals.machine import End, end
from gpuaas_server.terminals.relay import DATABASE_ERRORS, GOODBYE_SECONDS, Relay, resize_of
from gpuaas_server.terminals.relay_server import RelayServer, TerminalOccupied
from gpuaas_server.terminals.rows import TerminalRow
from gpuaas_server.terminals.service import stored_end

RIGHTS_SECONDS = 15.0
# The caches of rights are emptied by the same wake-up that reaches us: give them time before rights are checked again.
AFTER_A_CHANGE = 0.2
OCCUPIED = end("closed", "Somebody is at this terminal already.")

StillThere = Callable[[], Awaitable[bool]]


async def terminal_to_watch(
    platform: Platform, scope: Scope, actor: Actor, project_id: str, allocation_id: str, terminal_id: str
) -> TerminalRow:
    """Return the terminal to the person who opened it: an administrator may close it, and never looks on."""
    async with platform.database.connection(scope) as connection:
        row = await service.terminal_row(connection, project_id, allocation_id, terminal_id)
    if row.opened_by != actor.id:
        raise Problem("forbidden", "This is somebody else's terminal.")
    return row


async def watch(
    platform: Platform, relay_server: RelayServer, row: TerminalRow, person: Channel, still_there: StillThere
) -> None:
    """Join the person with the terminal until its end, and tell them why it ended."""
    row = await _wait_for_holder(platform, row)
    if row.status == "ended" or row.holder is None:
        return await _refuse_person(person, _end_of(row))
    guard = asyncio.create_task(_wait_for_lost_access(platform, still_there))
    try:
        relay = relay_server.relays.get(row.id)
        if row.holder == relay_server.address and relay is not None:
            await _join_local(relay, person, guard)
        else:
            await _join_remote(platform, relay_server, row, row.holder, person, guard)
    finally:
        await stop(guard)


async def _wait_for_holder(platform: Platform, row: TerminalRow) -> TerminalRow:
    """Return the row as soon as the host has come, or it is clear that it will not."""

    async def read() -> PollResult[TerminalRow]:
        found = await holder_lease.terminal_state(platform, row.id) or row
        return PollResult(found, found.holder is not None or found.status == "ended")

    left = (row.open_by - platform.clock()).total_seconds()
    return await platform.wakeups.long_poll(service.topic(row.id), read, max(left, 0.0))


def _end_of(row: TerminalRow) -> End:
    if row.status == "ended":
        return stored_end(row)
    return end("not_opened", "The host did not answer in time.")


async def _refuse_person(person: Channel, why: End) -> None:
    with suppress(ChannelClosed):
        await person.send(why.document())
    await person.close()


async def _join_local(relay: Relay, person: Channel, guard: asyncio.Task[None]) -> None:
    if not relay.attach(person):
        return await _refuse_person(person, OCCUPIED)
    told = asyncio.create_task(relay.told.wait())
    try:
        await asyncio.wait([told, guard], return_when=asyncio.FIRST_COMPLETED)
        relay.give_up(end("access_lost"))  # nothing, when it is over anyway
        await told
    finally:
        told.cancel()


async def _join_remote(
    platform: Platform,
    relay_server: RelayServer,
    row: TerminalRow,
    address: str,
    person: Channel,
    guard: asyncio.Task[None],
) -> None:
    """Join the person with a terminal whose relay is in another process, at the holder's address."""
    try:
        holder = await relay_server.dial(address, row.id)
    except TerminalOccupied:
        return await _refuse_person(person, OCCUPIED)
    except ChannelClosed:
        return await _report_unreachable(platform, row, person)
    shown = asyncio.create_task(_show(holder, person))
    typed = asyncio.create_task(_pass_on(person, holder))
    try:
        longest = platform.settings.terminal_open_seconds + row.max_seconds + GOODBYE_SECONDS
        await asyncio.wait([shown, typed, guard], timeout=longest, return_when=asyncio.FIRST_COMPLETED)
        if guard.done() and not shown.done():
            with suppress(ChannelClosed, TimeoutError):
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await holder.send({"type": "give_up"})
                    await asyncio.shield(shown)
        if shown.done() and not shown.result():
            await _report_interruption(platform, row, person)
    finally:
        for task in (shown, typed):
            task.cancel()
        with suppress(TimeoutError):  # a client that no longer reads would make us wait with the rest of the output
            async with asyncio.timeout(GOODBYE_SECONDS):
                await holder.close()
                await person.close()


async def _show(holder: StreamChannel, person: Channel) -> bool:
    """Show what the holder sends. Return True when it said goodbye or the person left, False when the holder is gone."""
    while True:
        try:
            message = await holder.receive()
        except ChannelClosed:
            return False
        try:
            await person.send(message)
        except ChannelClosed:
            return True
        if isinstance(message, dict) and message.get("type") == "ended":
            return True


async def _pass_on(person: Channel, holder: StreamChannel) -> None:
    with suppress(ChannelClosed):
        while True:
            message = await person.receive()
            wanted = message if isinstance(message, bytes) else resize_of(message)
            if wanted is not None:
                await holder.send(wanted)


async def _report_unreachable(platform: Platform, row: TerminalRow, person: Channel) -> None:
    """Tell the person that the holder cannot be reached. Its lease says whether it may still relay for somebody."""
    with suppress(*DATABASE_ERRORS):
        row = await holder_lease.terminal_state(platform, row.id) or row
    if row.status == "ended":
        await _refuse_person(person, _end_of(row))
    elif row.lease_until is None or row.lease_until <= platform.clock():
        await _report_interruption(platform, row, person)
    else:
        await _refuse_person(person, end("interrupted"))


async def _report_interruption(platform: Platform, row: TerminalRow, person: Channel) -> None:
    """End the terminal whose holder is gone: that is known here first."""
    with suppress(*DATABASE_ERRORS):
        await holder_lease.terminal_end(platform, row, end("interrupted"))
    await _refuse_person(person, end("interrupted"))


async def _wait_for_lost_access(platform: Platform, still_there: StillThere) -> None:
    """Return when the person may not be there any more. It is checked when rights change, and every few seconds."""
    async with platform.wakeups.waiting(identity.TOPIC) as woken:
        while await _still_allowed(still_there):
            with suppress(TimeoutError):
                async with asyncio.timeout(RIGHTS_SECONDS):
                    await woken.wait()
                woken.clear()  # before the look: what changes meanwhile is a reason to look again
                await asyncio.sleep(AFTER_A_CHANGE)


async def _still_allowed(still_there: StillThere) -> bool:
    """Tell whether the person may stay. An unavailable database takes nobody's rights."""
    with suppress(psycopg.Error):
        return await still_there()
    return True


async def may_be_there(platform: Platform, scope: Scope, caller: Caller, actor: Actor, row: TerminalRow) -> bool:
    """Tell whether the person could open the terminal now. An allocation that is gone ends its terminals itself."""
    with suppress(Problem):
        async with platform.database.connection(scope) as connection:
            return await service.may_open(connection, caller, actor, row.project_id, row.allocation_id)
    return True
