"""A deliberately broken build is caught: each fault, brought about by a directed schedule, violates its invariant."""

import asyncio
import signal
from collections.abc import Callable

import pytest

from chaos.clients import public_key
from chaos.faults import BLIND_SCHEDULER, WITHOUT_CLAIM_INDEX, arming_file
from chaos.platform import is_stopped
from chaos.run import Experiment, Report, running_experiment

pytestmark = pytest.mark.timeout(900)  # for a busy machine; a quiet one takes a quarter of a minute
SEED = 1
ELSEWHERE = ("api-2", "api-2")  # all hosts ask the api that is not frozen


async def until(look: Callable[[], bool], what: str, seconds: float = 180.0) -> None:
    for _ in range(int(seconds / 0.05)):
        if await asyncio.to_thread(look):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"{what}: not within {seconds:.0f} s")


def arm(experiment: Experiment, part: str, fault: str) -> None:
    arming_file(experiment.platform.directory, part, fault).touch()


async def stopped(experiment: Experiment, part: str) -> None:
    await until(lambda: is_stopped(experiment.platform.parts[part].pid), f"{part} stops itself")


async def ended(experiment: Experiment) -> Report:
    """All clients let go, everything comes to rest, and is checked."""
    for tenant in experiment.deployment.tenants:
        tenant.stopping.set()
    for project in experiment.deployment.projects:
        await next(tenant for tenant in experiment.deployment.tenants if tenant.project_id == project.id).release_all()
    await experiment.wait_quiet()
    report = await experiment.check(SEED, ())
    print(report)
    return report


async def refused_while_one_sleeps(experiment: Experiment) -> Report:
    """An api is frozen with a request in its hands; the retry is refused elsewhere; then there is room, and it wakes."""
    tenant = experiment.deployment.tenants[-1]
    session, path = tenant.session, f"{tenant.path}/allocations"
    first = await tenant.allocate({"sku": "h100-slice", "gpu_count": 2})
    assert len(first) == 1
    request = session.history.begin(
        "allocation_create", session.name, "POST", path, {"sku": "h100-slice", "gpu_count": 2, "name": "{id}"}
    )
    arm(experiment, "api-1", "stop_before_key")
    unanswered = asyncio.create_task(session.attempt(request, "api-1"))
    await stopped(experiment, "api-1")
    refusal = await session.attempt(request, "api-2")
    assert (refusal.status, refusal.code) == (409, "quota_exceeded")
    assert (await unanswered).status is None
    await session.attempt(
        session.history.begin("allocation_release", session.name, "POST", f"{path}/{first[0]}/release", {}), "api-2"
    )
    await until(lambda: state_of(experiment, first[0]) == "released", "the release")
    experiment.platform.parts["api-1"].signal(signal.SIGCONT)
    for replica in ("api-1", "api-2"):
        while not (await session.attempt(request, replica)).decided:
            await asyncio.sleep(0.1)
    return await ended(experiment)


def state_of(experiment: Experiment, allocation_id: str) -> str:
    return str(experiment.witness.rows("SELECT state FROM allocations WHERE id = %s", allocation_id)[0]["state"])


async def taken_over_while_one_sleeps(experiment: Experiment) -> Report:
    """A worker is frozen with a lease in its hands; the other one takes over, and is frozen too; the first one wakes."""
    first, second = experiment.platform.parts["worker-1"], experiment.platform.parts["worker-2"]
    second.kept_down = True
    second.kill()
    arm(experiment, "worker-1", "stop_before_guard")
    arm(experiment, "worker-2", "stop_before_guard")
    made = await experiment.deployment.tenants[0].allocate({"sku": "h100-slice", "gpu_count": 1})
    await stopped(experiment, "worker-1")
    second.kept_down = False
    await until(lambda: second.alive, "worker-2 starts")
    await stopped(experiment, "worker-2")
    first.signal(signal.SIGCONT)
    await asyncio.sleep(0.5)  # so that the first one, which was woken first, also comes first
    second.signal(signal.SIGCONT)
    await until(lambda: state_of(experiment, made[0]) == "active", "the allocation")
    return await ended(experiment)


async def refused_by_the_quota(experiment: Experiment) -> Report:
    """A creation is refused by the last thing that it does."""
    tenant = experiment.deployment.tenants[-1]
    assert len(await tenant.allocate({"sku": "h100-slice", "gpu_count": 1})) == 1
    assert await tenant.allocate({"sku": "h100-slice", "gpu_count": 4}) == []
    return await ended(experiment)


async def key_and_grant_deleted(experiment: Experiment) -> Report:
    """A user deletes an SSH key, and a grant on an active allocation."""
    tenant = experiment.deployment.tenants[0]
    session = tenant.session
    await tenant.live_key()
    (made,) = await tenant.allocate({"sku": "h100-slice", "gpu_count": 1})
    await until(lambda: state_of(experiment, made) == "active", "the allocation")
    path = f"{tenant.path}/allocations/{made}/ssh-grants"
    grant = {"public_key": public_key(), "expires_at": "2027-06-01T00:00:00Z", "note": "{id}"}
    granted = await session.change("ssh_grant_create", "POST", path, **grant)
    assert granted.answer is not None
    await session.change("ssh_grant_delete", "DELETE", f"{path}/{granted.answer.body['id']}")
    assert all(request.accepted for request in session.history.of("ssh_key_delete", "ssh_grant_delete"))
    return await ended(experiment)


async def offered_what_is_taken(experiment: Experiment) -> Report:
    """Two tenants ask for a GPU, one after the other, and the scheduler offers both of them the same one."""
    experiment.witness.execute(BLIND_SCHEDULER)
    first, second = experiment.deployment.tenants[0], experiment.deployment.tenants[-1]
    for tenant in (first, second):
        for allocation_id in await tenant.allocate({"sku": "h100-slice", "gpu_count": 1}):
            await until(lambda found=allocation_id: state_of(experiment, found) == "active", "the allocation")  # type: ignore[misc]
    return await ended(experiment)


async def test_claims_without_their_index_are_caught() -> None:
    async with running_experiment(SEED, with_app=False) as experiment:
        experiment.witness.execute(WITHOUT_CLAIM_INDEX)
        assert (await offered_what_is_taken(experiment)).violated == {"claims", "wipe before next provision"}


async def test_claims_with_their_index_pass_the_same_schedule() -> None:
    async with running_experiment(SEED, with_app=False) as experiment:
        report = await offered_what_is_taken(experiment)
        assert report.violated == set()
        (refused,) = [one for one in experiment.deployment.history.of("allocation_create") if one.refused]
        assert refused.answer is not None
        assert refused.answer.code == "no_capacity"


async def test_a_lease_that_fences_no_worker_is_caught() -> None:
    faults = {"worker-1": ["without_fence", "stop_before_guard"], "worker-2": ["stop_before_guard"]}
    async with running_experiment(SEED, faults, with_app=False) as experiment:
        assert (await taken_over_while_one_sleeps(experiment)).violated == {"work under its lease"}


async def test_a_lease_that_fences_passes_the_same_schedule() -> None:
    faults = {"worker-1": ["stop_before_guard"], "worker-2": ["stop_before_guard"]}
    async with running_experiment(SEED, faults, with_app=False) as experiment:
        assert (await taken_over_while_one_sleeps(experiment)).violated == set()


async def test_an_event_outside_its_transaction_is_caught() -> None:
    async with running_experiment(
        SEED, {name: ["events_outside"] for name in ("api-1", "api-2")}, with_app=False
    ) as experiment:
        assert (await refused_by_the_quota(experiment)).violated == {"events of nothing else"}


async def test_a_deletion_that_deletes_nothing_is_caught() -> None:
    faults = {name: ["without_deletion"] for name in ("api-1", "api-2")}
    async with running_experiment(SEED, faults, with_app=False) as experiment:
        report = await key_and_grant_deleted(experiment)
        assert report.violated == {"deleted: it is gone"}
        (found,) = [finding for finding in report.findings if finding.violations]
        assert (found.checked, len(found.violations)) == (2, 2)


async def test_a_refusal_that_is_not_remembered_is_caught() -> None:
    faults = {"api-1": ["stop_before_key", "without_memory"], "api-2": ["without_memory"]}
    async with running_experiment(SEED, faults, with_app=False, asked_by_racks=ELSEWHERE) as experiment:
        report = await refused_while_one_sleeps(experiment)
        assert report.violated == {"refused: it is not there", "same key, same answer"}


async def test_a_refusal_that_is_remembered_passes_the_same_schedule() -> None:
    faults = {"api-1": ["stop_before_key"]}
    async with running_experiment(SEED, faults, with_app=False, asked_by_racks=ELSEWHERE) as experiment:
        assert (await refused_while_one_sleeps(experiment)).violated == set()
