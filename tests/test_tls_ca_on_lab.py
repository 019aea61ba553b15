"""A real agent on a real host follows a rotation of the TLS CA, keeps it over a restart, and drops the old one."""

import json
from collections.abc import Iterator

import pytest

from gpuaas_lab import Fleet
from gpuaas_sdk import NewAllocation, PlatformKey
from gpuaas_sdk.testing import Sandbox
from system_support.lab_site import lab_site
from system_support.ledger import Ledger, until

pytestmark = [pytest.mark.lab, pytest.mark.timeout(900)]
HEARTBEATS = 200.0  # seconds: three of them, on a busy machine


@pytest.fixture(scope="module")
def site() -> Iterator[tuple[Sandbox, Fleet]]:
    with lab_site("tls-ca", 1) as made:
        yield made


def authorities(sandbox: Sandbox) -> list[PlatformKey]:
    return [key for key in sandbox.admin.platform_keys.list() if key.kind == "tls_ca" and key.retired_at is None]


def test_the_agent_trusts_the_new_ca_alone_when_the_old_one_is_retired(site: tuple[Sandbox, Fleet]) -> None:
    sandbox, fleet = site
    [old] = authorities(sandbox)
    new = sandbox.admin.platform_keys.rotate("tls_ca", "a test")
    Ledger(sandbox.server.database_url()).change("UPDATE platform_keys SET signs_from = created_at")
    sandbox.admin.platform_keys.rotate("registry_token", "so that everybody looks")
    until(lambda: authorities(sandbox)[0].unconfirmed.total == 0, "the agent trusts the new CA", HEARTBEATS)
    sandbox.admin.platform_keys.retire(old.id, "replaced")
    host = fleet.hosts[0]

    def dropped() -> bool:
        stored = json.loads(host.read_file("/var/lib/gpuaas/agent/node.json"))
        return bool(stored["ca_pem"] == new.certificate)

    until(dropped, "the agent has dropped the old CA", HEARTBEATS)
    assert authorities(sandbox)[0].id == new.id
    [made] = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-node"))
    last = list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 120.0))[-1]
    assert last.state == "active", last.failure
    sandbox.admin.allocations.release(sandbox.project_id, made.id)
    list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 120.0))
