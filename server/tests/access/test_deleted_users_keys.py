"""The SSH keys that a person has stored go when the person is deleted, and nobody else's."""

from gpuaas_server.access.jobs import SshKeysDeleteJob
from gpuaas_server.identity.service import SSH_KEYS_DELETE
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.work import leases
from gpuaas_server.work.worker import Worker
from tests_support import agents
from tests_support.agents import Person, Site, ssh_line
from tests_support.select import select

PASSWORD = "a-long-phrase-for-keys"


async def stored_keys(platform: Platform) -> set[str]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT user_id FROM ssh_keys")
        return {row["user_id"] for row in await cursor.fetchall()}


async def waiting(platform: Platform) -> list[str]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT subject FROM work_items WHERE kind = %s", (SSH_KEYS_DELETE,))
        return [row["subject"] for row in await cursor.fetchall()]


async def take_turn(platform: Platform) -> None:
    """A worker leases what is due of this kind, and advances it."""
    async with platform.database.connection(PLATFORM) as connection:
        taken = await leases.take(connection, [SSH_KEYS_DELETE], "test", utc_now(), 60, 10)
    for lease in taken:
        await Worker(platform, [SshKeysDeleteJob()])._advance(lease)


async def person_with_keys(site: Site, tenant: str, name: str) -> str:
    body = {"email": f"{name}@acme.test", "name": name, "password": PASSWORD}
    user_id = str((await site.admin.post(f"/tenants/{tenant}/users", body))["id"])
    credentials = {"grant_type": "password", "username": body["email"], "password": PASSWORD}
    token = (await site.client.post("/auth/token", json=credentials)).json()["access_token"]
    for number in range(2):
        key = {"name": f"laptop-{number}", "public_key": ssh_line()}
        await Person(site.client, token).post("/me/ssh-keys", key)
    return user_id


async def test_the_keys_of_a_deleted_user_go_and_those_of_others_stay(platform: Platform) -> None:
    async with agents.opened(platform) as site:
        tenant = (await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"}))["id"]
        leaver, stayer = [await person_with_keys(site, tenant, name) for name in ("ann", "ben")]
        await take_turn(platform)
        assert await stored_keys(platform) == {leaver, stayer}
        assert (await site.admin.call("DELETE", f"/users/{leaver}")).status_code == 204
        assert await waiting(platform) == [leaver]
        await take_turn(platform)
        assert await stored_keys(platform) == {stayer}
        assert await waiting(platform) == []
