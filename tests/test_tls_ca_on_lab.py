"""A real agent on a real host follows a rotation of the TLS CA, keeps it over a restart, and drops the old one."""

import json
from collections.abc import Iterator

import pytest

from gpuaas_lab import Fleet
from gpuaas_sdk import NewAllocation, PlatformKey
from system_support.lab_site import lab_site
from system_support.ledger import Ledger, until
from system_support.world import World

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
HEARTBEATS = 200.0  # seconds: three of them, on a busy machine


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[World, Fleet]]:
    with lab_site("tls-ca", 1) as made:
        yield made


def authorities(world: World) -> list[PlatformKey]:
    return [key for key in world.admin.platform_keys.list() if key.kind == "tls_ca" and key.retired_at is None]


def test_the_agent_trusts_the_new_ca_alone_when_the_old_one_is_retired(site: tuple[World, Fleet]) -> None:
    world, fleet = site
    [old] = authorities(world)
    new = world.admin.platform_keys.rotate("tls_ca", "a test")
    Ledger(world.server.database_url()).change("UPDATE platform_keys SET signs_from = created_at")
    world.admin.platform_keys.rotate("registry_token", "so that everybody looks")
    until(lambda: authorities(world)[0].unconfirmed.total == 0, "the agent trusts the new CA", HEARTBEATS)
    world.admin.platform_keys.retire(old.id, "replaced")
    host = fleet.hosts[0]

    def dropped() -> bool:
        stored = json.loads(host.read_file("/var/lib/gpuaas/agent/node.json"))
        return bool(stored["ca_pem"] == new.certificate)

    until(dropped, "the agent has dropped the old CA", HEARTBEATS)
    assert authorities(world)[0].id == new.id
    [made] = world.admin.allocations.create(world.project_id, NewAllocation(sku="h100-node"))
    last = list(world.admin.allocations.follow(world.project_id, [made.id], 120.0))[-1]
    assert last.state == "active", last.failure
    world.admin.allocations.release(world.project_id, made.id)
    list(world.admin.allocations.follow(world.project_id, [made.id], 120.0))
