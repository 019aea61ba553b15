"""A host that still holds what was released: it is told again."""

from datetime import timedelta

from gpuaas_server.host_tasks import service as host_tasks
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.nodes.leftover_allocations import SentTasks, find_leftovers
from tests_support.agents import Host, Json, Site, ssh_line

TENANT = new_id("tnt")
SPEC: dict[str, object] = {"shape": "baremetal", "login_user": "gpu", "slots": []}


def test_only_what_is_claimed_no_more_and_known_and_idle_is_ended() -> None:
    known = {
        "gone": SentTasks("nod_1", "tnt_1", 4, False, SPEC),
        "claimed": SentTasks("nod_1", "tnt_1", 1, False, SPEC),
        "pending": SentTasks("nod_1", "tnt_1", 5, True, SPEC),
        "elsewhere": SentTasks("nod_2", "tnt_1", 1, False, SPEC),
        "never provisioned": SentTasks("nod_1", "tnt_1", 1, False, None),
    }
    reported = [*known, "gone", "unheard of"]
    assert find_leftovers("nod_1", reported, ["claimed", "not yet here"], known) == ["gone"]
    assert find_leftovers("nod_1", [], ["claimed"], known) == []


async def provisioned(platform: Platform, host: Host) -> str:
    """An allocation that was provisioned and whose release never reached the host."""
    resource = new_id("alc")
    for generation, kind in ((1, "provision"), (2, "sync_access")):
        async with platform.transaction(PLATFORM, system_actor("test", "c")) as tx:
            spec = {"allocation_id": resource, **SPEC} | ({"grants": []} if kind == "provision" else {})
            await host_tasks.task_create(
                tx,
                node_id=host.node_id,
                tenant_id=TENANT,
                kind=kind,
                resource_id=resource,
                generation=generation,
                spec=spec,
                deadline=tx.now + timedelta(minutes=5),
                notify_kind="allocation",
                notify_subject=resource,
            )
        for task in await host.poll():
            await host.report(task)
    return resource


async def beat(host: Host, *reported: str) -> None:
    body: Json = {
        "agent_version": "0.1.0",
        "boot_id": "b",
        "address": host.address,
        "ssh_host_public_key": ssh_line(),
        "allocations": [{"allocation_id": one, "generation": 1} for one in reported],
    }
    answer = await host.call("POST", "/heartbeat", body)
    assert answer.status_code == 200, answer.text


async def test_a_host_that_still_holds_a_released_allocation_is_told_again_once(site: Site) -> None:
    host = await site.host()
    resource = await provisioned(site.platform, host)
    await beat(host, resource)
    await beat(host, resource)
    (task,) = await host.poll()
    assert (task["kind"], task["resource_id"], task["generation"]) == ("deprovision", resource, 3)
    assert task["spec"] == {"allocation_id": resource, **SPEC}
    await host.report(task, "failed")
    await beat(host, resource)
    (again,) = await host.poll()
    assert again["generation"] == 4
    async with site.platform.database.connection(Scope(TENANT)) as connection:
        found = await host_tasks.tasks_of_resource(connection, resource)
        assert len(found) == 4  # also what was said again is its tenant's
    await host.report(again)
    await beat(host)
    assert await host.poll() == []


async def test_what_is_claimed_and_what_was_never_sent_is_left_alone(site: Site) -> None:
    host, other = await site.host(), await site.host("host-2", "10.0.0.2")
    resource, strange = await provisioned(site.platform, host), new_id("alc")
    async with site.platform.transaction(PLATFORM, system_actor("test", "c")) as tx:
        await tx.connection.execute(
            "INSERT INTO allocation_resource_claims (id, tenant_id, allocation_id, node_id, kind, lane, claimed_at)"
            " VALUES (%s, %s, %s, %s, 'node_exclusive', '(,)', now())",
            (new_id("clm"), new_id("tnt"), resource, host.node_id),
        )
    await beat(host, resource, strange)
    await beat(other, resource)
    assert await host.poll() == []
    assert await other.poll() == []
