"""What waits for a controller: in its own project, and in every tenant that consents to it."""

from collections.abc import Sequence
from itertools import zip_longest

from gpuaas_server.controllers import queries
from gpuaas_server.controllers.replicas import note_poll
from gpuaas_server.controllers.schemas import ServedInstance
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import Scope
from gpuaas_server.kernel.http.call import Admission
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.rows import fields_of
from gpuaas_server.kernel.wakeups import Look
from gpuaas_server.operations import service as operations
from gpuaas_server.operations.schemas import WorkItem, WorkList
from gpuaas_server.operations.service import MOST_WORK, WaitingOperation

EACH_TENANT = 8  # operations of one tenant that one answer names at most


def beyond(account_id: str) -> Scope:
    """The scope of a controller across tenants: it reads what waits and what it serves where it has consent, and no more."""
    return Scope("", controller=account_id)


async def controller_work(
    platform: Platform, admission: Admission, project_id: str, replica: str | None, claimed: bool, wait: float
) -> WorkList:
    """List what waits for this controller; if nothing does, wait up to `wait` seconds for the first.

    `claimed` asks for something else: the operations that a replica of this name has claimed and may resume.
    """
    caller, scope = admission.caller, admission.scope
    if replica is None:
        await _note_poll(platform, admission.actor, scope, caller, project_id)
    if claimed:
        return _listed(await _claimed(platform, scope, caller, replica or ""))
    further = [operations.app_topic(slug) for slug in identity.bound_apps(caller)]

    async def look() -> Look[list[WaitingOperation]]:
        rows = await _waiting(platform, scope, caller, project_id)
        return Look(rows, bool(rows))

    rows = await platform.wakeups.first(operations.controller_topic(project_id), look, wait, further)
    return _listed(rows)


async def _note_poll(platform: Platform, actor: Actor, scope: Scope, caller: Caller, project_id: str) -> None:
    async with platform.database.connection(scope) as connection:
        await note_poll(connection, actor, caller, project_id, platform.clock())


async def _waiting(platform: Platform, scope: Scope, caller: Caller, project_id: str) -> list[WaitingOperation]:
    """The project's own operations take turns with those of each app in other tenants."""
    async with platform.database.connection(scope) as connection:
        own = await operations.work_list(connection, caller, project_id)
        bound = await queries.has_binding(connection, caller.id)
    lists: list[Sequence[WaitingOperation]] = [own]
    if bound:
        async with platform.database.connection(beyond(caller.id)) as connection:
            for slug in identity.bound_apps(caller):
                offered = await queries.operations_offered(connection, WaitingOperation, slug, EACH_TENANT, MOST_WORK)
                lists.append([one for one in offered if one.project_id != project_id])
    return take_turns(lists)[:MOST_WORK]


def take_turns(lists: Sequence[Sequence[WaitingOperation]]) -> list[WaitingOperation]:
    """The first of each list, then the second of each, and so on."""
    return [one for turn in zip_longest(*lists) for one in turn if one is not None]


async def _claimed(platform: Platform, scope: Scope, caller: Caller, replica: str) -> list[WaitingOperation]:
    apps = identity.bound_apps(caller)
    found: dict[str, WaitingOperation] = {}
    for each in (scope, beyond(caller.id)):
        async with platform.database.connection(each) as connection:
            rows = await queries.operations_claimed(connection, WaitingOperation, caller.id, replica, apps, MOST_WORK)
        found |= {row.id: row for row in rows}
    return list(found.values())


def _listed(rows: Sequence[WaitingOperation]) -> WorkList:
    return WorkList(items=[WorkItem(**fields_of(row)) for row in rows])


async def controller_instance_list(
    platform: Platform, admission: Admission, project_id: str, slug: str, after: str | None, limit: int
) -> Page[ServedInstance]:
    """List the running instances that this controller looks after: those of its project, and where tenants consent."""
    caller = admission.caller
    if slug not in identity.bound_apps(caller):
        return Page[ServedInstance].of([], limit)
    async with platform.database.connection(admission.scope) as connection:
        rows = await queries.instances_served(connection, slug, project_id, after, limit + 1)
        bound = await queries.has_binding(connection, caller.id)
    if bound:
        async with platform.database.connection(beyond(caller.id)) as connection:
            elsewhere = await queries.instances_served(connection, slug, None, after, limit + 1)
        rows = sorted({row.id: row for row in (*rows, *elsewhere)}.values(), key=lambda row: row.id)
    return Page[ServedInstance].of([ServedInstance(**fields_of(row)) for row in rows[: limit + 1]], limit)
