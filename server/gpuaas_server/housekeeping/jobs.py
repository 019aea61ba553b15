"""One recurring work row that removes what has served its time, in portions: no sweep holds locks for long."""

from datetime import datetime, timedelta

from gpuaas_server.access import service as access
from gpuaas_server.allocations import service as allocations
from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.audit import service as audit
from gpuaas_server.deletions import service as deletions
from gpuaas_server.events import service as events
from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.identity import service as identity
from gpuaas_server.instances import service as instances
from gpuaas_server.kernel.context import Platform, Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.expired_keys import expired_keys_forget
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.nodes import service as nodes
from gpuaas_server.terminals import service as terminals

SUBJECT = "platform"
EVERY = timedelta(minutes=10)
PORTION = 500
PORTION_OF_KEYS = 10_000  # small rows, one for each change that anybody asked for: they must go as fast as they come
NEXT_PORTION = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Cutoffs:
    """For each kind of row: what ended or happened before this time is removed."""

    events: datetime
    audit: datetime
    history: datetime
    operations: datetime
    deliveries: datetime
    certificates: datetime
    enrolments: datetime


class HousekeepingJob:
    """Removes one portion of everything that has served its time, and runs again at once while there is more."""

    kind = "housekeeping"

    def __init__(self, platform: Platform) -> None:
        self._settings = platform.settings

    async def run(self, tx: Tx, subject: str) -> datetime:
        before = cutoffs(self._settings, tx.now)
        await nodes.count_ending_keys(tx, nodes.key_life(self._settings))
        await deletions.count_stuck(tx)
        keys = await expired_keys_forget(tx, PORTION_OF_KEYS)
        removed = (
            await identity.sessions_forget(tx, PORTION),
            await identity.browser_sessions_forget(tx, PORTION),
            await events.forget_before(tx, before.events, PORTION),
            await instances.forget_timelines(tx, before.operations, PORTION),
            await allocations.history_forget(tx, before.history, PORTION),
            await host_tasks.tasks_forget_served(tx, before.history, PORTION),
            await terminals.terminals_forget(tx, before.history, PORTION),
            await access.certificates_forget(tx, before.certificates, PORTION),
            await nodes.host_certificates_forget(tx, before.certificates, PORTION),
            await nodes.enrolment_tokens_forget(tx, before.enrolments, PORTION),
            await artifacts.intents_forget(tx, before.history, PORTION),
            await artifacts.runtime_secrets_forget(tx, before.history, PORTION),
            await instances.forget_operations(tx, before.operations, PORTION),
            await access.deliveries_forget(tx, before.deliveries, PORTION),
            await audit.forget_before(tx, before.audit, PORTION),
        )
        more = max(removed) == PORTION or keys == PORTION_OF_KEYS
        return tx.now + (NEXT_PORTION if more else EVERY)


def cutoffs(settings: Settings, now: datetime) -> Cutoffs:
    def ago(days: int) -> datetime:
        return now - timedelta(days=days)

    return Cutoffs(
        events=ago(settings.event_retention_days),
        audit=ago(settings.audit_retention_days),
        history=ago(settings.history_retention_days),
        operations=ago(settings.operation_retention_days),
        deliveries=ago(settings.delivery_retention_days),
        certificates=ago(settings.certificate_retention_days),
        enrolments=ago(settings.enrolment_retention_days),
    )
