"""Remove what a tenant or project holds, a portion in each transaction.

Nothing remembers how far the purge is: each portion is looked for afresh, so that it goes on after a kill at any point.
"""

from collections import Counter
from dataclasses import field
from datetime import timedelta

from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.deletions import queries
from gpuaas_server.deletions.inventory import PROJECT_LAST, PROJECT_STAGES, TENANT_LAST, TENANT_STAGES, Stage
from gpuaas_server.deletions.machine import BLOCKED_PAUSE, DeletionObstacle, leftovers_obstacle
from gpuaas_server.identity import service as identity
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.secrets import service as secrets

_STORE_WORK = [artifacts.DELETE, artifacts.PUBLISH, secrets.ERASE]
PORTION = 500  # rows of one table in one transaction
PAUSE = timedelta(seconds=1)  # between two looks at what other machines remove: bytes, and secrets in an external store


@dataclass(frozen=True, slots=True)
class Portion:
    """Counts what one transaction removed, by table. `pause`: the time until the next portion. `obstacle`: what others must do
    first. `done`: nothing of the tenant or project is left.
    """

    removed: Counter[str] = field(default_factory=Counter)
    pause: timedelta = timedelta(0)
    obstacle: DeletionObstacle | None = None
    done: bool = False


async def purge_tenant(tx: Tx, settings: Settings, tenant_id: str, portion: int = PORTION) -> Portion:
    """Purge project by project, then what is the tenant's own, then the tenant."""
    of_tenant = await queries.project_ids(tx.connection, tenant_id)
    if of_tenant:
        found = await purge_project(tx, settings, of_tenant[0], portion)
        return Portion(found.removed, found.pause, found.obstacle)
    removed = await _remove_first(tx, TENANT_STAGES, tenant_id, portion)
    if removed:
        return Portion(removed)
    return await _finish(tx, TENANT_LAST, tenant_id)


async def purge_project(tx: Tx, settings: Settings, project_id: str, portion: int = PORTION) -> Portion:
    left = await queries.leftovers(tx.connection, [project_id])
    if left:  # began before the deletion was asked for, and was committed after
        return Portion(pause=BLOCKED_PAUSE, obstacle=leftovers_obstacle("project", left))
    of_artifacts = await artifacts.purge_portion(tx, settings, project_id, portion)
    of_secrets = await secrets.destroy_portion(tx, project_id, portion)
    await queries.members_detach(tx.connection, project_id)
    removed = await _remove_first(tx, PROJECT_STAGES, project_id, portion)
    if removed:
        return Portion(removed)
    if of_artifacts or of_secrets:
        return Portion(pause=PAUSE, obstacle=await _stores_obstacle(tx, project_id, of_artifacts, of_secrets))
    return await _finish(tx, PROJECT_LAST, project_id)


async def _stores_obstacle(tx: Tx, project_id: str, of_artifacts: int, of_secrets: int) -> DeletionObstacle:
    """Return what keeps the purge waiting: bytes that are still in a store, with the store's last refusal."""
    error = await queries.store_error(tx.connection, project_id, _STORE_WORK)
    what, count, words = (
        ("artifacts", of_artifacts, "artifact(s) or upload(s) of the project whose bytes are not removed")
        if of_artifacts
        else ("secrets", of_secrets, "secret(s) of the project that may still be in the external store")
    )
    return DeletionObstacle(what, count, f"{count} {words}{f'; the last attempt: {error}' if error else ''}.")


async def _finish(tx: Tx, last: Stage, place: str) -> Portion:
    removed = await queries.rows_remove(tx.connection, last, place, 1)
    return Portion(Counter({last.table: removed}), done=True)


async def _remove_first(tx: Tx, stages: tuple[Stage, ...], place: str, portion: int) -> Counter[str]:
    """Remove a portion of the first table that has something left."""
    for stage in stages:
        removed = await _remove(tx, stage, place, portion)
        if removed:
            return removed
    return Counter()


async def _remove(tx: Tx, stage: Stage, place: str, portion: int) -> Counter[str]:
    if not stage.children:
        return +Counter({stage.table: await queries.rows_remove(tx.connection, stage, place, portion)})
    ids = await queries.parents(tx.connection, stage, place, portion)
    if not ids:
        return Counter()
    removed: Counter[str] = Counter()
    for table, column in stage.children:
        removed[table] += await queries.children_remove(tx.connection, table, column, ids, portion)
    if max(removed.values()) == portion:
        return removed  # there may be more of these: their parents stay until they are gone
    if stage.table == "users":
        await identity.forget_sign_ins(tx, ids)
    if stage.instead:
        removed[stage.table] += await queries.parents_scrub(tx.connection, stage, ids, tx.now)
    else:
        removed[stage.table] += await queries.parents_remove(tx.connection, stage.table, ids)
    return +removed
