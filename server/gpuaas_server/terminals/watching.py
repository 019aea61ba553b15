"""The person's stream: find who holds the terminal, join, and see to it that they may still be there."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import psycopg
from psycopg.rows import DictRow

from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.tasks import stop
from gpuaas_server.kernel.wakeups import Look
from gpuaas_server.terminals import holding, service
from gpuaas_server.terminals.carrying import AWAY, GOODBYE_SECONDS, Carrier, resize_of
from gpuaas_server.terminals.desk import Desk, Occupied
from gpuaas_server.terminals.lines import Line, LineGone, StreamLine
from gpuaas_server.terminals.machine import End, end

RIGHTS_SECONDS = 15.0
# Those who remember rights are woken by the same call as we are: let them forget first.
AFTER_A_CHANGE = 0.2
OCCUPIED = end("closed", "Somebody is at this terminal already.")

StillThere = Callable[[], Awaitable[bool]]


async def terminal_to_watch(
    platform: Platform, scope: Scope, actor: Actor, project_id: str, allocation_id: str, terminal_id: str
) -> DictRow:
    """Only who opened it comes to the stream: an administrator may close it, and never looks on."""
    async with platform.database.connection(scope) as connection:
        row = await service.terminal_row(connection, project_id, allocation_id, terminal_id)
    if row["opened_by"] != actor.id:
        raise Problem("forbidden", "This is somebody else's terminal.")
    return row


async def watch(platform: Platform, desk: Desk, row: DictRow, person: Line, still_there: StillThere) -> None:
    """Until the end, which the person is told."""
    row = await _held(platform, row)
    if row["status"] == "ended" or row["holder"] is None:
        return await _turn_away(person, _end_of(row))
    guard = asyncio.create_task(_right_is_lost(platform, still_there))
    try:
        carrier = desk.carriers.get(row["id"])
        if row["holder"] == desk.address and carrier is not None:
            await _here(carrier, person, guard)
        else:
            await _elsewhere(platform, desk, row, person, guard)
    finally:
        await stop(guard)


async def _held(platform: Platform, row: DictRow) -> DictRow:
    """As soon as the host has come, or it is clear that it will not."""

    async def look() -> Look[DictRow]:
        found = await holding.terminal_state(platform, row["id"]) or row
        return Look(found, found["holder"] is not None or found["status"] == "ended")

    left = (row["open_by"] - platform.clock()).total_seconds()
    return await platform.wakeups.first(service.topic(row["id"]), look, max(left, 0.0))


def _end_of(row: DictRow) -> End:
    if row["status"] == "ended":
        return End(row["reason"], row["sentence"], row["exit_status"])
    return end("not_opened", "The host did not answer in time.")


async def _turn_away(person: Line, why: End) -> None:
    with suppress(LineGone):
        await person.send(why.document())
    await person.close()


async def _here(carrier: Carrier, person: Line, guard: asyncio.Task[None]) -> None:
    if not carrier.attach(person):
        return await _turn_away(person, OCCUPIED)
    told = asyncio.create_task(carrier.told.wait())
    try:
        await asyncio.wait([told, guard], return_when=asyncio.FIRST_COMPLETED)
        carrier.give_up(end("access_lost"))  # nothing, when it is over anyway
        await told
    finally:
        told.cancel()


async def _elsewhere(platform: Platform, desk: Desk, row: DictRow, person: Line, guard: asyncio.Task[None]) -> None:
    try:
        holder = await desk.dial(row["holder"], row["id"])
    except Occupied:
        return await _turn_away(person, OCCUPIED)
    except LineGone:
        return await _not_met(platform, row, person)
    shown = asyncio.create_task(_show(holder, person))
    typed = asyncio.create_task(_pass_on(person, holder))
    try:
        longest = platform.settings.terminal_open_seconds + row["max_seconds"] + GOODBYE_SECONDS
        await asyncio.wait([shown, typed, guard], timeout=longest, return_when=asyncio.FIRST_COMPLETED)
        if guard.done() and not shown.done():
            with suppress(LineGone, TimeoutError):
                async with asyncio.timeout(GOODBYE_SECONDS):
                    await holder.send({"type": "give_up"})
                    await asyncio.shield(shown)
        if shown.done() and not shown.result():
            await _interrupted(platform, row, person)
    finally:
        for task in (shown, typed):
            task.cancel()
        with suppress(TimeoutError):  # who does not read any more would have us wait with the rest of the output
            async with asyncio.timeout(GOODBYE_SECONDS):
                await holder.close()
                await person.close()


async def _show(holder: StreamLine, person: Line) -> bool:
    """Whether the holder said goodbye, or the person left: else the holder is gone."""
    while True:
        try:
            message = await holder.receive()
        except LineGone:
            return False
        try:
            await person.send(message)
        except LineGone:
            return True
        if isinstance(message, dict) and message.get("type") == "ended":
            return True


async def _pass_on(person: Line, holder: StreamLine) -> None:
    with suppress(LineGone):
        while True:
            message = await person.receive()
            wanted = message if isinstance(message, bytes) else resize_of(message)
            if wanted is not None:
                await holder.send(wanted)


async def _not_met(platform: Platform, row: DictRow, person: Line) -> None:
    """A holder that we do not reach may carry the terminal for somebody all the same: its lease says so."""
    with suppress(*AWAY):
        row = await holding.terminal_state(platform, row["id"]) or row
    if row["status"] == "ended":
        await _turn_away(person, _end_of(row))
    elif row["lease_until"] <= platform.clock():
        await _interrupted(platform, row, person)
    else:
        await _turn_away(person, end("interrupted"))


async def _interrupted(platform: Platform, row: DictRow, person: Line) -> None:
    """Who held it for this person is gone: that is known here first."""
    with suppress(*AWAY):
        await holding.terminal_end(platform, row, end("interrupted"))
    await _turn_away(person, end("interrupted"))


async def _right_is_lost(platform: Platform, still_there: StillThere) -> None:
    """Returns when the person may not be there any more. Looked at when rights change, and now and then anyway."""
    async with platform.wakeups.waiting(identity.TOPIC) as woken:
        while await _may_stay(still_there):
            with suppress(TimeoutError):
                async with asyncio.timeout(RIGHTS_SECONDS):
                    await woken.wait()
                woken.clear()  # before the look: what changes meanwhile is a reason to look again
                await asyncio.sleep(AFTER_A_CHANGE)


async def _may_stay(still_there: StillThere) -> bool:
    """A database that is away takes nobody's rights."""
    with suppress(psycopg.Error):
        return await still_there()
    return True


async def may_be_there(platform: Platform, scope: Scope, caller: Caller, actor: Actor, row: DictRow) -> bool:
    """Whether who opened it could open it now. An allocation that is gone ends its terminals itself."""
    with suppress(Problem):
        async with platform.database.connection(scope) as connection:
            return await service.may_open(connection, caller, actor, row["project_id"], row["allocation_id"])
    return True
