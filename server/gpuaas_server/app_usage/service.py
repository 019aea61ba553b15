"""The verbs of app usage: a controller reports it, people read it, and billing hears of it in the log of each project."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta

from gpuaas_server.app_usage import queries
from gpuaas_server.app_usage.queries import UsageFilter
from gpuaas_server.app_usage.rows import UsageRecordRow
from gpuaas_server.app_usage.schemas import (
    UsageBatch,
    UsageRecord,
    UsageReport,
    UsageReported,
    UsageTotal,
    UsageTotals,
)
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.instances import service as instances
from gpuaas_server.instances.service import MeteredInstance
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.kernel.rows import fields_of

__all__ = ["UsageFilter", "app_usage_list", "app_usage_report", "app_usage_totals"]

CLOCKS_APART = timedelta(minutes=10)  # how far a host's clock may be from ours
# A record stays for ever, and a list with one that began before the year 1 could not be read any more.
EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
MOST_NAMED = 20
MOST_DAYS = 400
USUAL_DAYS = 31


async def app_usage_report(tx: Tx, caller: Caller, instance_id: str, body: UsageBatch) -> UsageReported:
    """Record all or none. A record that is known with the same content is not added again: a repetition is harmless."""
    metered = await instances.load_metered_instance(tx.connection, caller, instance_id)
    faults = [fault for one in body.records for fault in _faults(metered, one, tx.now)]
    if faults:
        listed: list[object] = [{"source_key": key, "message": message} for key, message in faults[:MOST_NAMED]]
        raise Problem("usage_invalid", f"{faults[0][0]}: {faults[0][1]}", {"faults": listed, "count": len(faults)})
    rows = _without_repeats([_row(tx, metered, one) for one in body.records])
    added = await queries.records_add(tx.connection, rows)
    known = [row for row in rows if row.source_key not in added]
    if known:
        await _require_same(tx.connection, instance_id, known)
    await emit(tx, *_usage_events(metered, [row for row in rows if row.source_key in added]))
    tx.audited = True  # records are never changed and say who reported them, so they need no audit row
    return UsageReported(instance_id=instance_id, recorded=len(added), known=len(body.records) - len(added))


def _faults(metered: MeteredInstance, report: UsageReport, now: datetime) -> Iterator[tuple[str, str]]:
    """Yield every fault that a schema cannot state, so that a reporter is corrected once."""
    units = metered.units.get(report.metric, ())
    if not units:
        yield report.source_key, f"The app's manifest has no metering {report.metric}."
    elif report.unit not in units:
        yield report.source_key, f"{report.metric} is counted in {' or '.join(sorted(units))}, not in {report.unit}."
    if report.project_id not in metered.projects:
        yield report.source_key, f"The instance does not serve {report.project_id}."
    if report.started_at > report.ended_at:
        yield report.source_key, "The usage ended before it started."
    if report.ended_at > now + CLOCKS_APART:
        yield report.source_key, "The usage ends in the future."
    if min(report.started_at, report.ended_at) < EARLIEST:
        yield report.source_key, "The usage is from before 1970."
    elif report.started_at < metered.created_at - CLOCKS_APART:
        yield (
            report.source_key,
            f"The usage started before the instance was created ({metered.created_at:%Y-%m-%d %H:%M:%SZ}).",
        )
    gone = metered.decommissioned_at
    if gone is not None and report.ended_at > gone + CLOCKS_APART:
        yield report.source_key, f"The usage ended after the instance was decommissioned ({gone:%Y-%m-%d %H:%M:%SZ})."


def _row(tx: Tx, metered: MeteredInstance, report: UsageReport) -> UsageRecordRow:
    return UsageRecordRow(
        **report.model_dump(),
        id=new_id("aur"),
        tenant_id=metered.tenant_id,
        instance_id=metered.instance_id,
        app_slug=metered.app_slug,
        reported_by=tx.actor.id,
        correlation_id=tx.actor.correlation_id,
        recorded_at=tx.now,
    )


def _without_repeats(rows: Sequence[UsageRecordRow]) -> list[UsageRecordRow]:
    """Drop repeated records. A batch may repeat a record, but not have two contents under one key."""
    kept: dict[str, UsageRecordRow] = {}
    for row in rows:
        if kept.setdefault(row.source_key, row).content != row.content:
            raise _key_taken([row.source_key])
    return list(kept.values())


async def _require_same(connection: Connection, instance_id: str, rows: Sequence[UsageRecordRow]) -> None:
    keys = [row.source_key for row in rows]
    stored = {row.source_key: row.content for row in await queries.records_known(connection, instance_id, keys)}
    others = [row.source_key for row in rows if stored.get(row.source_key) != row.content]
    if others:
        raise _key_taken(others)


def _key_taken(keys: Sequence[str]) -> Problem:
    named: list[object] = list(keys[:MOST_NAMED])
    message = f"{keys[0]} is recorded with other content{f' (and {len(keys) - 1} more)' if len(keys) > 1 else ''}."
    return Problem("usage_key_taken", message, {"source_keys": named, "count": len(keys)})


def _usage_events(metered: MeteredInstance, rows: Sequence[UsageRecordRow]) -> Iterator[NewEvent]:
    """Yield one event for each project, in its own log: billing reads on from there, and no project sees another's usage."""
    for project_id in sorted({row.project_id for row in rows}):
        mine = [row for row in rows if row.project_id == project_id]
        sums: dict[str, int] = {}
        for row in mine:
            sums[row.metric] = sums.get(row.metric, 0) + row.quantity
        ids = sorted(row.id for row in mine)
        data: dict[str, object] = {"instance_id": metered.instance_id, "app": metered.app_slug, "records": len(mine)}
        data |= {"quantities": sums, "first_record_id": ids[0], "last_record_id": ids[-1]}
        yield NewEvent("app_usage.recorded", metered.instance_id, metered.tenant_id, project_id, data)


async def app_usage_list(connection: Connection, wanted: UsageFilter, page: PageRequest) -> Page[UsageRecord]:
    position = None if page.after is None else await queries.record_position(connection, wanted.project_id, page.after)
    if page.after is not None and position is None:
        raise Problem("invalid_cursor")
    rows = await queries.record_list(connection, wanted, position, page.rows)
    return Page[UsageRecord].of([UsageRecord(**fields_of(row)) for row in rows], page)


async def app_usage_totals(
    connection: Connection,
    project_id: str,
    instance_id: str | None,
    days: tuple[date | None, date | None],
    today: date,
    after: str | None,
    limit: int,
) -> UsageTotals:
    """Add up what ended in whole days in UTC: the sums are exact, and cost days, not records."""
    last = days[1] or today
    first = days[0] or date.fromordinal(max(last.toordinal() - USUAL_DAYS + 1, 1))
    if not 0 <= (last - first).days < MOST_DAYS:
        raise Problem("invalid_request", f"The range must have at least one day and at most {MOST_DAYS}.")
    position = None if after is None else _read_cursor(after)
    rows = await queries.totals(connection, project_id, instance_id, (first, last), position, limit + 1)
    items = [UsageTotal(**fields_of(row)) for row in rows[:limit]]
    more = len(rows) > limit
    return UsageTotals(items=items, next_cursor=_cursor(items[-1]) if more else None)


def _cursor(total: UsageTotal) -> str:
    return f"{total.instance_id}/{total.metric}/{total.unit}"


def _read_cursor(cursor: str) -> tuple[str, str, str]:
    instance_id, metric, unit = cursor.split("/")
    return instance_id, metric, unit
