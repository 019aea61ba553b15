"""The verbs of app usage: a controller reports it, people read it, and billing hears of it in the log of each project."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

from psycopg.rows import DictRow

from gpuaas_server.app_usage import queries
from gpuaas_server.app_usage.queries import UsageFilter
from gpuaas_server.app_usage.schemas import (
    UsageBatch,
    UsageRecord,
    UsageReport,
    UsageReported,
    UsageTotal,
    UsageTotals,
)
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.instances import metering
from gpuaas_server.instances.metering import Metered
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id

__all__ = ["UsageFilter", "app_usage_list", "app_usage_report", "app_usage_totals"]

CLOCKS_APART = timedelta(minutes=10)  # how far ahead of us a host's clock may be
# A record stays for ever, and a list with one that began before the year 1 could not be read any more.
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
MOST_NAMED = 20
MOST_DAYS = 400
USUAL_DAYS = 31


async def app_usage_report(
    tx: Tx, caller: Caller, project_id: str, instance_id: str, body: UsageBatch
) -> UsageReported:
    """All or none. What is known under its key with the same content is not recorded again: a repetition is harmless."""
    metered = await metering.metered(tx.connection, caller, project_id, instance_id)
    faults = [fault for one in body.records for fault in _faults(metered, one, tx.now)]
    if faults:
        listed: list[object] = [{"source_key": key, "message": message} for key, message in faults[:MOST_NAMED]]
        raise Problem("usage_invalid", f"{faults[0][0]}: {faults[0][1]}", {"faults": listed, "count": len(faults)})
    rows = _once([_row(tx, metered, one) for one in body.records])
    added = await queries.records_add(tx.connection, rows)
    known = [row for row in rows if row["source_key"] not in added]
    if known:
        await _require_same(tx.connection, instance_id, known)
    await emit(tx, *_news(metered, [row for row in rows if row["source_key"] in added]))
    tx.audited = True  # the records are only ever added, and say who reported them: they are their own trail
    return UsageReported(instance_id=instance_id, recorded=len(added), known=len(body.records) - len(added))


def _faults(metered: Metered, told: UsageReport, now: datetime) -> Iterator[tuple[str, str]]:
    """What a schema cannot say; every reason, so that a reporter is corrected once."""
    units = metered.units.get(told.metric, ())
    if not units:
        yield told.source_key, f"The app's manifest has no metering {told.metric}."
    elif told.unit not in units:
        yield told.source_key, f"{told.metric} is counted in {' or '.join(sorted(units))}, not in {told.unit}."
    if told.project_id not in metered.projects:
        yield told.source_key, f"The instance does not serve {told.project_id}."
    if told.started_at > told.ended_at:
        yield told.source_key, "It ended before it started."
    if min(told.started_at, told.ended_at) < EARLIEST:
        yield told.source_key, "It was before 1970."
    if told.ended_at > now + CLOCKS_APART:
        yield told.source_key, "It ended in the future."


def _row(tx: Tx, metered: Metered, told: UsageReport) -> dict[str, object]:
    return {
        **told.model_dump(),
        "id": new_id("aur"),
        "tenant_id": metered.tenant_id,
        "instance_id": metered.instance_id,
        "app_slug": metered.app_slug,
        "reported_by": tx.actor.id,
        "correlation_id": tx.actor.correlation_id,
        "recorded_at": tx.now,
    }


def _once(rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    """One report may say the same thing twice, but not two things under one key."""
    kept: dict[object, dict[str, object]] = {}
    for row in rows:
        if _content(kept.setdefault(row["source_key"], row)) != _content(row):
            raise _taken([str(row["source_key"])])
    return list(kept.values())


async def _require_same(connection: Connection, instance_id: str, rows: Sequence[dict[str, object]]) -> None:
    keys = [str(row["source_key"]) for row in rows]
    stored = {row["source_key"]: _content(row) for row in await queries.records_known(connection, instance_id, keys)}
    others = [str(row["source_key"]) for row in rows if stored.get(str(row["source_key"])) != _content(row)]
    if others:
        raise _taken(others)


def _content(row: dict[str, object] | DictRow) -> list[object]:
    """What was told, apart from who told it and when."""
    return [row[name] for name in UsageReport.model_fields]


def _taken(keys: Sequence[str]) -> Problem:
    named: list[object] = list(keys[:MOST_NAMED])
    message = f"{keys[0]} is recorded with other content{f' (and {len(keys) - 1} more)' if len(keys) > 1 else ''}."
    return Problem("usage_key_taken", message, {"source_keys": named, "count": len(keys)})


def _news(metered: Metered, rows: Sequence[dict[str, object]]) -> Iterator[NewEvent]:
    """One for each project, in its own log: whoever bills reads on from there, and nobody reads of another's usage."""
    for project_id in sorted({str(row["project_id"]) for row in rows}):
        mine = [row for row in rows if row["project_id"] == project_id]
        sums: dict[str, int] = {}
        for row in mine:
            sums[str(row["metric"])] = sums.get(str(row["metric"]), 0) + int(str(row["quantity"]))
        ids = sorted(str(row["id"]) for row in mine)
        data: dict[str, object] = {"instance_id": metered.instance_id, "app": metered.app_slug, "records": len(mine)}
        data |= {"quantities": sums, "first_record_id": ids[0], "last_record_id": ids[-1]}
        yield NewEvent("app_usage.recorded", metered.instance_id, metered.tenant_id, project_id, data)


async def app_usage_list(
    connection: Connection, wanted: UsageFilter, after: str | None, limit: int
) -> Page[UsageRecord]:
    place = None if after is None else await queries.record_place(connection, wanted.project_id, after)
    if after is not None and place is None:
        raise Problem("invalid_cursor")
    rows = await queries.record_list(connection, wanted, place, limit + 1)
    return Page[UsageRecord].of([UsageRecord(**row) for row in rows], limit)


async def app_usage_totals(
    connection: Connection,
    project_id: str,
    instance_id: str | None,
    days: tuple[date | None, date | None],
    today: date,
    after: str | None,
    limit: int,
) -> UsageTotals:
    """By whole days in UTC: exact sums of what ended in them, at the cost of days and not of records."""
    last = days[1] or today
    first = days[0] or date.fromordinal(max(last.toordinal() - USUAL_DAYS + 1, 1))
    if not 0 <= (last - first).days < MOST_DAYS:
        raise Problem("invalid_request", f"At least one day and at most {MOST_DAYS}, please.")
    place = None if after is None else _place(after)
    rows = await queries.totals(connection, project_id, instance_id, (first, last), place, limit + 1)
    items = [UsageTotal(**row) for row in rows[:limit]]
    more = len(rows) > limit
    return UsageTotals(items=items, next_cursor=_cursor(items[-1]) if more else None)


def _cursor(total: UsageTotal) -> str:
    return f"{total.instance_id}/{total.metric}/{total.unit}"


def _place(cursor: str) -> tuple[str, str, str]:
    instance_id, metric, unit = cursor.split("/")
    return instance_id, metric, unit
