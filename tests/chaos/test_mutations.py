"""A deliberately broken build is caught: each fault, brought about by a directed schedule, violates its invariant."""

import asyncio
import signal
from collections.abc import Callable

import pytest

from chaos.faults import arming_file
from chaos.platform import is_stopped
from chaos.run import Report, Scene, assembled

pytestmark = pytest.mark.timeout(900)  # for a busy machine; a quiet one takes a quarter of a minute
SEED = 1
ELSEWHERE = ("api-2", "api-2")  # all hosts ask the api that is not frozen


async def until(look: Callable[[], bool], what: str, seconds: float = 180.0) -> None:
    for _ in range(int(seconds / 0.05)):
        if await asyncio.to_thread(look):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{what}: not within {seconds:.0f} s")


def arm(scene: Scene, part: str, fault: str) -> None:
    arming_file(scene.platform.directory, part, fault).touch()


async def stopped(scene: Scene, part: str) -> None:
    await until(lambda: is_stopped(scene.platform.parts[part].pid), f"{part} stops itself")


async def ended(scene: Scene) -> Report:
    """All clients let go, everything comes to rest, and is checked."""
    for tenant in scene.cast.tenants:
        tenant.stopping.set()
    for project in scene.cast.projects:
        await next(tenant for tenant in scene.cast.tenants if tenant.project_id == project.id).release_all()
    await scene.wait_quiet()
    report = await scene.check(SEED, ())
    print(report)
    return report


async def refused_while_one_sleeps(scene: Scene) -> Report:
    """An api is frozen with a request in its hands; the retry is refused elsewhere; then there is room, and it wakes."""
    tenant = scene.cast.tenants[-1]
    session, path = tenant.session, f"{tenant.path}/allocations"
    first = await tenant.allocate({"sku": "h100-slice", "gpu_count": 2})
    assert len(first) == 1
    request = session.history.begin(
        "allocation_create", session.name, "POST", path, {"sku": "h100-slice", "gpu_count": 2, "name": "{id}"}
    )
    arm(scene, "api-1", "stop_before_key")
    unanswered = asyncio.create_task(session.attempt(request, "api-1"))
    await stopped(scene, "api-1")
    refusal = await session.attempt(request, "api-2")
    assert (refusal.status, refusal.code) == (409, "quota_exceeded")
    assert (await unanswered).status is None
    await session.attempt(
        session.history.begin("allocation_release", session.name, "POST", f"{path}/{first[0]}/release", {}), "api-2"
    )
    await until(lambda: state_of(scene, first[0]) == "released", "the release")
    scene.platform.parts["api-1"].signal(signal.SIGCONT)
    for replica in ("api-1", "api-2"):
        while not (await session.attempt(request, replica)).decided:
            await asyncio.sleep(0.1)
    return await ended(scene)


def state_of(scene: Scene, allocation_id: str) -> str:
    return str(scene.witness.rows("SELECT state FROM allocations WHERE id = %s", allocation_id)[0]["state"])


async def taken_over_while_one_sleeps(scene: Scene) -> Report:
    """A worker is frozen with a lease in its hands; the other one takes over, and is frozen too; the first one wakes."""
    first, second = scene.platform.parts["worker-1"], scene.platform.parts["worker-2"]
    second.kept_down = True
    second.kill()
    arm(scene, "worker-1", "stop_before_guard")
    arm(scene, "worker-2", "stop_before_guard")
    made = await scene.cast.tenants[0].allocate({"sku": "h100-slice", "gpu_count": 1})
    await stopped(scene, "worker-1")
    second.kept_down = False
    await until(lambda: second.alive, "worker-2 starts")
    await stopped(scene, "worker-2")
    first.signal(signal.SIGCONT)
    await asyncio.sleep(0.5)  # so that the first one, which was woken first, also comes first
    second.signal(signal.SIGCONT)
    await until(lambda: state_of(scene, made[0]) == "active", "the allocation")
    return await ended(scene)


async def refused_by_the_quota(scene: Scene) -> Report:
    """A creation is refused by the last thing that it does."""
    tenant = scene.cast.tenants[-1]
    assert len(await tenant.allocate({"sku": "h100-slice", "gpu_count": 1})) == 1
    assert await tenant.allocate({"sku": "h100-slice", "gpu_count": 4}) == []
    return await ended(scene)


async def test_a_lease_that_fences_nobody_is_caught() -> None:
    faults = {"worker-1": ["without_fence", "stop_before_guard"], "worker-2": ["stop_before_guard"]}
    async with assembled(SEED, faults, with_app=False) as scene:
        assert (await taken_over_while_one_sleeps(scene)).violated == {"work under its lease"}


async def test_a_lease_that_fences_passes_the_same_schedule() -> None:
    faults = {"worker-1": ["stop_before_guard"], "worker-2": ["stop_before_guard"]}
    async with assembled(SEED, faults, with_app=False) as scene:
        assert (await taken_over_while_one_sleeps(scene)).violated == set()


async def test_an_event_outside_its_transaction_is_caught() -> None:
    async with assembled(SEED, {name: ["events_outside"] for name in ("api-1", "api-2")}, with_app=False) as scene:
        assert (await refused_by_the_quota(scene)).violated == {"events of nothing else"}


async def test_a_refusal_that_is_not_remembered_is_caught() -> None:
    faults = {"api-1": ["stop_before_key", "without_memory"], "api-2": ["without_memory"]}
    async with assembled(SEED, faults, with_app=False, asked_by_racks=ELSEWHERE) as scene:
        report = await refused_while_one_sleeps(scene)
        assert report.violated == {"refused: it is not there", "same key, same answer"}


async def test_a_refusal_that_is_remembered_passes_the_same_schedule() -> None:
    faults = {"api-1": ["stop_before_key"]}
    async with assembled(SEED, faults, with_app=False, asked_by_racks=ELSEWHERE) as scene:
        assert (await refused_while_one_sleeps(scene)).violated == set()
