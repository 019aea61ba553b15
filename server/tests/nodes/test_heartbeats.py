"""A heartbeat without news costs no statement; one with news, or after a while, is compared with the database."""

from gpuaas_server.nodes.agent_schemas import AgentHeartbeat
from gpuaas_server.nodes.heartbeats import FACTS_LIFE, Heartbeats
from tests_support.agents import MovableClock, Site, ssh_line

KEY = ssh_line()


def beat(**more: object) -> AgentHeartbeat:
    said = {"agent_version": "1", "boot_id": "b-1", "address": "10.0.0.1", "ssh_host_public_key": KEY}
    return AgentHeartbeat.model_validate({**said, **more})


async def test_the_same_again_is_no_news_until_it_is_old(site: Site) -> None:
    clock = MovableClock()
    site.platform.clock = clock
    heartbeats = Heartbeats(site.platform)
    assert heartbeats.is_news("nod_1", beat())
    heartbeats.remember("nod_1", beat())
    assert not heartbeats.is_news("nod_1", beat())
    assert heartbeats.is_news("nod_2", beat())
    assert heartbeats.is_news("nod_1", beat(boot_id="b-2"))
    clock.ahead += FACTS_LIFE
    assert heartbeats.is_news("nod_1", beat())


async def test_a_host_that_holds_something_is_always_news(site: Site) -> None:
    heartbeats = Heartbeats(site.platform)
    holding = beat(allocations=[{"allocation_id": "alc_" + "0" * 26, "generation": 1}])
    heartbeats.remember("nod_1", holding)
    assert heartbeats.is_news("nod_1", holding)


async def test_new_keys_are_in_the_next_answer(site: Site) -> None:
    heartbeats = Heartbeats(site.platform)
    before = await heartbeats.trust()
    await site.admin.post("/platform-keys/rotate", {"kind": "task_signing", "reason": "it is time"})
    assert len((await heartbeats.trust()).task_keys) == len(before.task_keys) + 1
