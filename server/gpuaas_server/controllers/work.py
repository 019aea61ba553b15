"""Finds what waits for a controller: in its own project, and in every tenant that consents to it."""

from collections import Counter
from collections.abc import Mapping, Sequence

from gpuaas_server.controllers import queries, work_queries
from gpuaas_server.controllers.replicas import note_poll
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.http.admissions import Admission
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.wakeups import PollResult
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.schemas import WorkItem, WorkList
from gpuaas_server.operations.service import MOST_WORK, WaitingOperation

EACH_TENANT = 8  # operations of one app of a tenant that one answer names at most


def cross_tenant_scope(account_id: str) -> Scope:
    """Return a controller's scope across tenants: it reads what waits and what it serves where it has consent, and no more."""
    return Scope("", controller=account_id)


@dataclass(frozen=True, slots=True)
class WorkPoll:
    """One poll of a replica. `claimed` asks for what a replica of this name has claimed and may resume."""

    project_id: str
    replica: str | None = None
    claimed: bool = False
    without_tenants: Sequence[str] = ()
    wait: float = 0


async def controller_work(platform: Platform, admission: Admission, poll: WorkPoll) -> WorkList:
    """List what waits for this controller; if nothing does, wait for the first, or for an app that is bound to it now."""
    caller, scope = admission.caller, admission.scope
    if poll.replica is None:
        await _note_poll(platform, admission.actor, scope, caller, poll.project_id)
    if poll.claimed:
        return _listed(await _claimed(platform, scope, caller, poll.replica or ""))
    further = [*map(operations.app_topic, identity.bound_apps(caller)), identity.apps_topic(caller.id)]
    seen: set[frozenset[str]] = {frozenset(caller.apps)}

    async def read() -> PollResult[list[WaitingOperation]]:
        rows, apps = await _waiting(platform, scope, caller, poll)
        seen.add(apps)
        return PollResult(rows, bool(rows) or len(seen) > 1)

    rows = await platform.wakeups.long_poll(operations.controller_topic(poll.project_id), read, poll.wait, further)
    return _listed(rows)


async def _note_poll(platform: Platform, actor: Actor, scope: Scope, caller: Caller, project_id: str) -> None:
    async with platform.database.connection(scope) as connection:
        await note_poll(connection, actor, caller, project_id, platform.clock())


async def _waiting(
    platform: Platform, scope: Scope, caller: Caller, poll: WorkPoll
) -> tuple[list[WaitingOperation], frozenset[str]]:
    """Return what waits for the controller. The project's own operations take turns with those of other tenants.

    The second value are the apps of the account now: when they have changed, the next poll listens for others.
    """
    async with platform.database.connection(scope) as connection:
        unwanted = caller.tenant_id in poll.without_tenants
        own = [] if unwanted else await operations.work_list(connection, caller, poll.project_id)
        claimed = await work_queries.claims_by_tenant(connection, caller.id)
        bound = await queries.slugs_bound(connection, caller.id)
        apps = frozenset(await identity.apps_controlled(connection, caller.id))
    offered: Sequence[WaitingOperation] = ()
    if bound:
        wanted = work_queries.WorkQuery(
            identity.bound_apps(caller), poll.project_id, poll.without_tenants, EACH_TENANT, MOST_WORK
        )
        async with platform.database.connection(cross_tenant_scope(caller.id)) as connection:
            offered = await work_queries.operations_offered(connection, WaitingOperation, wanted)
            claimed |= await work_queries.claims_by_tenant(connection, caller.id)
    return take_turns([*own, *offered], claimed)[:MOST_WORK], apps


def take_turns(waiting: Sequence[WaitingOperation], claimed: Mapping[str, int]) -> list[WaitingOperation]:
    """Take tenants in turn, each with its operations in the given order; leased operations count as turns already taken."""
    turns = Counter(claimed)

    def turn_of(one: WaitingOperation) -> int:
        turns[one.tenant_id] += 1
        return turns[one.tenant_id]

    numbered = [(turn_of(one), one) for one in waiting]
    return [one for _, one in sorted(numbered, key=lambda entry: entry[0])]


async def _claimed(platform: Platform, scope: Scope, caller: Caller, replica: str) -> list[WaitingOperation]:
    apps = identity.bound_apps(caller)
    found: dict[str, WaitingOperation] = {}
    for each in (scope, cross_tenant_scope(caller.id)):
        async with platform.database.connection(each) as connection:
            rows = await work_queries.operations_claimed(
                connection, WaitingOperation, caller.id, replica, apps, MOST_WORK
            )
        found |= {row.id: row for row in rows}
    return list(found.values())


def _listed(rows: Sequence[WaitingOperation]) -> WorkList:
    return WorkList(items=[WorkItem(**fields_of(row)) for row in rows])
