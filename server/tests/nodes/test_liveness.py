"""Which nodes are lost and which are back: the pure decision, and the reconciler on the real database."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.nodes.liveness import Liveness
from gpuaas_server.nodes.machine import FleetPulse, LivenessVerdict, NodePulse, decide_liveness
from gpuaas_server.nodes.reconciler import NodeLivenessReconciler
from tests_support.agents import MovableClock, Site
from tests_support.select import select

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SILENCE = timedelta(seconds=150)
LONG_AGO = NOW - timedelta(days=1)


def pulse(silent_seconds: float, lost: bool = False) -> NodePulse:
    return NodePulse("nod_a", NOW - timedelta(seconds=silent_seconds), LONG_AGO if lost else None)


@pytest.mark.parametrize(
    ("node", "listening_since", "verdict"),
    [
        (pulse(10), LONG_AGO, LivenessVerdict()),
        (pulse(151), LONG_AGO, LivenessVerdict(lost=("nod_a",))),
        (pulse(151, lost=True), LONG_AGO, LivenessVerdict()),
        (pulse(10, lost=True), LONG_AGO, LivenessVerdict(back=("nod_a",))),
        (pulse(151), NOW - timedelta(seconds=20), LivenessVerdict()),
        (pulse(151), None, LivenessVerdict()),
        (pulse(10, lost=True), None, LivenessVerdict(back=("nod_a",))),
    ],
)
def test_silence_counts_only_while_somebody_listened(
    node: NodePulse, listening_since: datetime | None, verdict: LivenessVerdict
) -> None:
    assert decide_liveness(FleetPulse((node,), listening_since), NOW, SILENCE) == verdict


@given(st.floats(0, 1000), st.booleans(), st.none() | st.floats(0, 1000))
def test_nobody_is_lost_and_back_at_once(silent: float, lost: bool, listening: float | None) -> None:
    since = None if listening is None else NOW - timedelta(seconds=listening)
    verdict = decide_liveness(FleetPulse((pulse(silent, lost),), since), NOW, SILENCE)
    assert not (verdict.lost and verdict.back)


async def step(platform: Platform) -> LivenessVerdict:
    """What the worker does, once."""
    reconciler = NodeLivenessReconciler(platform)
    async with platform.database.connection(PLATFORM) as connection:
        snapshot = await reconciler.load(connection, "all")
    verdict = reconciler.decide(snapshot, platform.clock())
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        again_at = await reconciler.apply(tx, snapshot, verdict)
        assert again_at > tx.now
    return verdict


async def test_a_silent_node_is_lost_and_a_word_brings_it_back(site: Site, clock: MovableClock) -> None:
    host = await site.host()
    assert await step(site.platform) == LivenessVerdict()
    ears = Liveness(site.platform)
    await ears.flush()
    for _ in range(20):  # the listener hears on, the node does not speak
        clock.ahead += timedelta(seconds=9)
        await ears.flush()
    assert (await step(site.platform)).lost == (host.node_id,)
    assert await step(site.platform) == LivenessVerdict()
    node = await site.admin.get(f"/nodes/{host.node_id}")
    assert (node["status"], node["schedulable"]) == ("lost", False)
    ears.record_heartbeat(host.node_id)
    await ears.flush()
    assert (await step(site.platform)).back == (host.node_id,)
    assert (await site.admin.get(f"/nodes/{host.node_id}"))["status"] == "enrolled"
    told = await site.admin.get(f"/events?subject={host.node_id}")
    assert [event["type"] for event in told["items"]] == ["node.enrolled", "node.lost", "node.back"]


async def test_a_platform_that_was_down_gives_the_fleet_time_to_come_back(site: Site, clock: MovableClock) -> None:
    await site.host()
    ears = Liveness(site.platform)
    await ears.flush()
    clock.ahead += timedelta(hours=1)
    await ears.flush()
    assert await step(site.platform) == LivenessVerdict()


async def test_a_poll_counts_as_a_sign_of_life_without_a_write_of_its_own(site: Site) -> None:
    host = await site.host()
    before = (await site.admin.get(f"/nodes/{host.node_id}"))["last_seen_at"]
    await host.poll()
    async with asyncio.timeout(60):  # flushed once a second, for all nodes together
        while str((await site.admin.get(f"/nodes/{host.node_id}"))["last_seen_at"]) <= str(before):
            await asyncio.sleep(0.1)


async def test_a_task_without_a_result_expires_and_wakes_who_asked(site: Site, clock: MovableClock) -> None:
    host = await site.host()
    task_id = (await site.admin.post(f"/nodes/{host.node_id}/discover"))["id"]
    clock.ahead += timedelta(seconds=400)
    await step(site.platform)
    async with site.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT status, failure FROM node_tasks WHERE id = %s", (task_id,))
        row = await cursor.fetchone()
    assert row is not None
    assert (row["status"], row["failure"]["code"]) == ("expired", "deadline_exceeded")
