"""Heartbeats of controllers' replicas. People who launch an app are told whether a replica of its controller runs."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from gpuaas_server.controllers import queries
from gpuaas_server.controllers.rows import ReplicaRow
from gpuaas_server.controllers.schemas import (
    ControllerHeartbeat,
    ControllerReplica,
    ControllerReplicas,
    HeartbeatAccepted,
)
from gpuaas_server.events.service import NewEvent, emit
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings

POLLS = "poll"  # the replica's name, where nobody gave one
BEATS_PER_SILENCE = 3
MOST_REPLICAS = 200
FORGOTTEN_AFTER = timedelta(days=1)


def silence(settings: Settings) -> timedelta:
    return timedelta(seconds=settings.controller_silence_seconds)


async def controller_heartbeat(
    tx: Tx, settings: Settings, caller: Caller, body: ControllerHeartbeat
) -> HeartbeatAccepted:
    """Count the replica as there. What comes and goes is an event; a thousand heartbeats are none."""
    if body.app not in identity.bound_apps(caller):
        raise Problem("not_the_controller", f"The service account is not bound to {body.app}.", {"app": body.app})
    row = _replica_row(tx.actor, caller, caller.project_id, body.app, body.replica, body.version, tx.now)
    if body.stopping:
        await queries.replica_gone(tx.connection, row.service_account_id, row.app_slug, row.replica)
    else:
        row = await queries.record_heartbeat(tx.connection, row, tx.now - silence(settings))
    if row.since == tx.now:
        await queries.replicas_forget(tx.connection, row.service_account_id, tx.now - FORGOTTEN_AFTER)
        name = "controller.stopped" if body.stopping else "controller.started"
        data: dict[str, object] = {"app": row.app_slug, "replica": row.replica, "version": row.version}
        await emit(tx, NewEvent(name, row.service_account_id, row.tenant_id, row.project_id, data))
    tx.audited = True
    pause = settings.controller_silence_seconds / BEATS_PER_SILENCE
    return HeartbeatAccepted(app=row.app_slug, replica=row.replica, since=row.since, next_in_seconds=pause)


async def note_poll(connection: Connection, actor: Actor, caller: Caller, project_id: str, now: datetime) -> None:
    """Count a poll of a replica that sends no heartbeats as a sign of life, as of those made before there were any."""
    for slug in identity.bound_apps(caller):
        row = _replica_row(actor, caller, project_id, slug, POLLS, None, now)
        await queries.record_heartbeat(connection, row, now - FORGOTTEN_AFTER)


def _replica_row(
    actor: Actor, caller: Caller, project_id: str, slug: str, replica: str, version: str | None, now: datetime
) -> ReplicaRow:
    return ReplicaRow(actor.id, slug, replica, caller.tenant_id, project_id, actor.name, version, now, now)


async def controller_replica_list(
    connection: Connection, settings: Settings, project_id: str, now: datetime
) -> ControllerReplicas:
    rows = await queries.replica_list(connection, project_id, MOST_REPLICAS)
    return ControllerReplicas(items=_shown(rows, now - silence(settings)))


def _shown(rows: Sequence[ReplicaRow], stale_before: datetime) -> list[ControllerReplica]:
    fields = [name for name in ControllerReplica.model_fields if name != "live"]
    return [
        ControllerReplica(**{name: getattr(row, name) for name in fields}, live=row.last_seen_at > stale_before)
        for row in rows
    ]
