"""The worker dies anywhere in a purge: at every portion, before or after its commit. Another one finishes it."""

from datetime import timedelta

import pytest
from psycopg.rows import DictRow

from gpuaas_server.deletions.inventory import KEPT
from gpuaas_server.deletions.reconciler import DeletionReconciler
from gpuaas_server.kernel.context import system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.apps import AppSite
from tests_support.deletable import Furnished, empty, furnish, lines, pass_grace, rows_of
from tests_support.select import select


class Killed(Exception):
    pass


@pytest.fixture
async def furnished(world: AppSite) -> Furnished:
    made = await furnish(world)
    await empty(world, made.instance_id)
    return made


async def portion(world: AppSite, deletion_id: str, size: int, killed: bool) -> bool:
    """One transaction of a worker that dies before its commit, or not; whether there is more to do."""
    reconciler = DeletionReconciler(world.platform.settings, size)
    again = None
    try:
        async with world.platform.transaction(PLATFORM, system_actor("worker/deletion")) as tx:
            loaded = await reconciler.load(tx.connection, deletion_id)
            assert loaded is not None
            again = await reconciler.apply(tx, loaded, reconciler.decide(loaded, tx.now))
            if killed:
                raise Killed
    except Killed:
        return True
    return again is not None


async def deletion(world: AppSite) -> DictRow:
    async with world.platform.database.connection(PLATFORM) as connection:
        row = await (await select(connection, "SELECT * FROM deletions")).fetchone()
    assert row is not None
    return row


async def test_a_purge_that_is_killed_at_every_portion_ends_as_one_that_is_not(
    world: AppSite, furnished: Furnished
) -> None:
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    deletion_id = (await deletion(world))["id"]
    world.clock.ahead += timedelta(days=8)
    await lines(world.platform, "DELETE FROM work_items WHERE kind = 'deletion' RETURNING id AS line")
    for _ in range(600):
        await portion(world, deletion_id, size=2, killed=True)  # does the work, and loses it
        before = await rows_of(world.platform, "tenant_id", world.tenant_id)
        more = await portion(world, deletion_id, size=2, killed=False)
        after = await rows_of(world.platform, "tenant_id", world.tenant_id)
        gone = {table: count - after.get(table, 0) for table, count in before.items() if count > after.get(table, 0)}
        assert all(count <= 2 for count in gone.values()), gone  # no transaction is larger than its portion
        if not more:
            break
        await world.settle()  # other reconcilers remove the bytes
    assert set(await rows_of(world.platform, "tenant_id", world.tenant_id)) == set(KEPT)
    ended = await deletion(world)
    assert (ended["state"], ended["removed"]["tenants"], ended["removed"]["allocations"]) == ("purged", 1, 4)
    told = "SELECT id AS line FROM events WHERE type = 'tenant.deleted'"
    assert len(await lines(world.platform, told)) == 1
    assert await portion(world, deletion_id, size=2, killed=False) is False  # once more changes nothing
    assert len(await lines(world.platform, told)) == 1


async def test_a_worker_that_died_in_the_middle_is_followed_by_another(world: AppSite, furnished: Furnished) -> None:
    await world.admin.call("DELETE", f"/tenants/{world.tenant_id}")
    deletion_id = (await deletion(world))["id"]
    world.clock.ahead += timedelta(days=8)
    for _ in range(5):
        await portion(world, deletion_id, size=1, killed=False)
    assert (await deletion(world))["state"] == "purging"
    await pass_grace(world)
    assert set(await rows_of(world.platform, "tenant_id", world.tenant_id)) == set(KEPT)
