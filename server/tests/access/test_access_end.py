"""Whoever is disabled, or loses the administration of a tenant, is out of every allocation that they could log in to."""

from datetime import timedelta

import pytest

from gpuaas_server.access import queries
from gpuaas_server.access.jobs import AccessEndJob
from gpuaas_server.access.rows import GrantRow
from gpuaas_server.identity.service import ACCESS_END
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.work import leases
from gpuaas_server.work.worker import Worker
from tests_support import agents

ACTOR = system_actor("test", "correlation-of-a-test")


async def grant(platform: Platform, holder: str, allocation: str, tenant: str, project: str) -> None:
    until, now = utc_now() + timedelta(days=30), utc_now()
    row = GrantRow(new_id("grt"), tenant, project, allocation, holder, "ssh-ed25519 A", "SHA256:x", None, until, now)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        await queries.grants_insert(tx.connection, [row])


async def live(platform: Platform, allocation: str) -> int:
    async with platform.database.connection(PLATFORM) as connection:
        return len(await queries.grants_live(connection, [allocation], utc_now()))


async def finish_work(platform: Platform) -> int:
    async with platform.database.connection(PLATFORM) as connection:
        taken = await leases.take(connection, [ACCESS_END], "test", utc_now(), 60, 10)
    for lease in taken:
        await Worker(platform, [AccessEndJob()])._advance(lease)
    return len(taken)


@pytest.mark.parametrize("how", ["disabled", "not an administrator any more"])
async def test_their_grants_end_in_every_project_and_others_stay(platform: Platform, how: str) -> None:
    async with agents.opened(platform) as site:
        tenant = (await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"}))["id"]
        people = [
            (await site.admin.post(f"/tenants/{tenant}/users", {"email": f"p{n}@acme.example", "name": "P"}))["id"]
            for n in range(3)
        ]
        for person in people:
            path = f"/tenants/{tenant}/members/{person}"
            assert (await site.admin.call("PUT", path, {"role": "tenant_admin"})).status_code == 200
        leaver, stayer = people[:2]
        places = [(new_id("alc"), new_id("prj")) for _ in range(2)]
        for allocation, project in places:
            await grant(platform, leaver, allocation, tenant, project)
            await grant(platform, stayer, allocation, tenant, project)
        if how == "disabled":
            answer = await site.admin.call("PATCH", f"/tenants/{tenant}/users/{leaver}", {"disabled": True})
        else:
            answer = await site.admin.call("DELETE", f"/tenants/{tenant}/members/{leaver}")
        assert answer.status_code in (200, 204), answer.text
        assert await finish_work(platform) == 1
        assert [await live(platform, allocation) for allocation, _ in places] == [1, 1]
