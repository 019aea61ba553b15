"""Tenants take turns: a tenant with a long queue does not delay another."""

from datetime import UTC, datetime

from gpuaas_server.controllers.work import take_turns
from gpuaas_server.operations.service import WaitingOperation
from tests_support.agents import Json
from tests_support.served import Served


async def _launch(served: Served, tenant: str, count: int, first: int = 0) -> None:
    world = served.tenant if tenant == "tenant" else served.stranger
    for number in range(first, first + count):
        place = world.allocations[number]
        intent = [{"component_key": key, "allocation_id": place} for key in ("head", "node")]
        await world.created(f"i-{number}", placement_intent=intent)


def _owners(served: Served, work: list[Json]) -> list[str]:
    names = {served.tenant.tenant_id: "tenant", served.stranger.tenant_id: "stranger"}
    return [names[one["tenant_id"]] for one in work]


async def test_tenants_take_turns_however_long_a_queue_is(served: Served) -> None:
    await served.consent(served.tenant)
    await served.consent(served.stranger)
    await _launch(served, "tenant", 2)
    await _launch(served, "stranger", 1)
    work = await served.work()
    assert _owners(served, work) == ["tenant", "stranger", "tenant"]
    await served.tenant.controller.does(work[0]["id"], "claim")
    work = await served.work()
    assert _owners(served, work) == ["stranger", "tenant"]  # though its operation is younger
    await served.stranger.controller.does(work[0]["id"], "claim")
    await _launch(served, "stranger", 1, first=1)
    assert _owners(served, await served.work()) == ["tenant", "stranger"]


async def test_a_replica_finds_what_it_claimed_in_other_tenants(served: Served) -> None:
    await served.consent()
    await _launch(served, "tenant", 2)
    first, second = await served.work()
    await served.tenant.controller.does(first["id"], "claim")
    path = f"{served.publisher.path}/controller/work?replica={{}}&claimed=true"
    own = (await served.controller.person.get(path.format("replica-1")))["items"]
    assert [(one["id"], one["project_id"]) for one in own] == [(first["id"], served.tenant.project_id)]
    assert (await served.controller.person.get(path.format("replica-2")))["items"] == []
    assert [one["id"] for one in await served.work()] == [second["id"]]


async def test_a_tenant_that_holds_operations_already_comes_after_one_that_holds_none(served: Served) -> None:
    await served.consent(served.tenant)
    await served.consent(served.stranger)
    await _launch(served, "tenant", 1)
    (first,) = await served.work()
    await served.tenant.controller.does(first["id"], "claim")
    await _launch(served, "tenant", 1, first=1)
    await _launch(served, "stranger", 1)
    assert _owners(served, await served.work()) == ["stranger", "tenant"]


async def test_a_poll_can_leave_tenants_out(served: Served) -> None:
    await served.consent(served.tenant)
    await served.consent(served.stranger)
    await _launch(served, "tenant", 2)
    await _launch(served, "stranger", 1)
    path = f"{served.publisher.path}/controller/work?replica=replica-1&without_tenant="
    get = served.controller.person.get
    assert _owners(served, (await get(path + served.tenant.tenant_id))["items"]) == ["stranger"]
    assert _owners(served, (await get(path + served.stranger.tenant_id))["items"]) == ["tenant", "tenant"]
    both = f"{path}{served.tenant.tenant_id}&without_tenant={served.stranger.tenant_id}"
    assert (await get(both))["items"] == []


def _waiting(number: int, tenant: str, app: str = "echo") -> WaitingOperation:
    now = datetime.now(UTC)
    place = (f"opr_{number}", tenant, f"prj_{tenant}", f"ins_{number}", app)
    return WaitingOperation(*place, "deploy", "instance", None, 0, now, now)


def test_turns_count_what_a_tenant_holds_and_not_how_many_apps_it_has() -> None:
    many = [_waiting(number, "many", app=f"app-{number}") for number in range(5)]
    one, other = _waiting(7, "one"), _waiting(8, "other")
    assert take_turns([*many, one, other], {"other": 3}) == [many[0], one, *many[1:4], other, many[4]]
    assert take_turns([*many, one], {"many": 2}) == [one, *many]
