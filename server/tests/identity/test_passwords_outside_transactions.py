"""A password is hashed for tens of milliseconds: no connection of the pool, and so no lock, is in use meanwhile."""

from collections.abc import Callable
from typing import Any

import pytest

from gpuaas_server.identity import administrators, passwords
from tests_support.people import PASSWORD, World

NEW = "a quiet otter counts ferries"


async def test_no_connection_is_in_use_while_a_password_is_hashed(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    connections: list[int] = []
    run = passwords.queue.run

    async def counted(trusted: bool, work: Callable[..., Any], *arguments: str) -> Any:
        stats = world.platform.database._pool.get_stats()
        connections.append(int(stats["pool_size"]) - int(stats["pool_available"]))
        return await run(trusted, work, *arguments)

    monkeypatch.setattr(passwords.queue, "run", counted)
    tenant_id = await world.tenant("acme")
    ann = await world.person("ann@acme.test", tenant_id, "tenant_admin")  # is made, and signs in
    reset = await world.admin.call("PATCH", f"/tenants/{tenant_id}/users/{ann.id}", json={"reset_password": True})
    assert reset.status_code == 200, reset.text
    bob = await world.person("bob@acme.test", tenant_id, "tenant_admin")
    changed = await bob.call("POST", "/me/password", json={"current_password": PASSWORD, "new_password": NEW})
    assert changed.is_success, changed.text
    await administrators.reset_admin(world.platform, None)
    assert len(connections) == 8, (
        "two are made and sign in, one is reset, one is proven and changed, and an administrator's"
    )
    assert connections == [0] * len(connections)
