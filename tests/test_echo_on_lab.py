"""The reference app on real hosts, through the public API alone: what goes wrong, the way out of it, and lies.

Every verb in a row, with everything that takes part in it killed meanwhile, is in test_echo_killed_on_lab.py.
"""

import asyncio
from collections.abc import Iterator

import pytest

from gpuaas_echo.controller import Echo
from gpuaas_sdk import InstanceMember
from gpuaas_sdk.controller import Context
from gpuaas_sdk.testing import interrupting_replicas
from system_support.echo_ground import NEW, OLD, RELAY, Ground, at_work, echo_ground, says

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
BLOCKED = ["touch", "/opt/echo"]  # a file where the app wants its folder
OPENED = ["rm", "-f", "/opt/echo"]


@pytest.fixture(scope="module")
def whole_ground() -> Iterator[Ground]:
    with echo_ground("echo") as made:
        yield made


@pytest.fixture
def ground(whole_ground: Ground) -> Iterator[Ground]:
    yield whole_ground
    whole_ground.clear()


def shown(ground: Ground, host: int, role: str = "hub") -> str:
    """What the host's own systemd says of the unit."""
    asked = ["systemctl", "show", "--value", "--property=Description,Environment", f"echo-{role}.service"]
    return ground.hosts[host].run(asked).stdout


def test_the_unit_shows_the_version_that_runs_and_the_instance_that_it_is_of(ground: Ground) -> None:
    with at_work(Echo(), ground.controller()):
        instance, deploy = ground.hub("versions")
        ground.succeeds(deploy)
        address = ground.hosts[0].address
        assert ground.instance(instance).access_bundle == {
            "talk": f"nc {address} 7007",
            "health": f"nc -z {address} 7007",
        }
        assert ground.answers(instance) == "hi $1 %n ping"
        for version, change in ((OLD, "reconcile"), (NEW, "upgrade"), (OLD, "rollback")):
            upgrade = change == "upgrade"
            ground.succeeds(ground.upgrade(instance, NEW) if upgrade else ground.operate(instance, change))
            assert f"echo hub {version}" in shown(ground, 0)
            assert f"GPUAAS_INSTANCE={instance}" in shown(ground, 0)
            now = ground.instance(instance)
            assert (now.version, (now.runtime or {})["version"]) == (version, version)
        ground.torn_down(instance)


def test_an_upgrade_that_breaks_off_leaves_the_version_and_a_rollback_restores_it(ground: Ground) -> None:
    with at_work(Echo(), ground.controller()):
        instance, deploy = ground.deploy(
            "half", [("hub", ground.places[0]), ("relay", ground.places[1])], greeting="hi"
        )
        ground.succeeds(deploy)
        relay = ground.hosts[1]
        relay.run(["sh", "-c", "systemctl stop echo-relay; rm -r /opt/echo; touch /opt/echo"])
        broken = ground.fails(ground.upgrade(instance, NEW), "command_failed")
        assert broken.steps[-1].member_id == ground.member(instance, "relay").id
        now = ground.instance(instance)
        assert (now.version, ground.answers(instance)) == (OLD, "hi, ping")  # half-way: the hub is ahead
        relay.run(OPENED)
        ground.succeeds(ground.operate(instance, "rollback"))
        assert (ground.answers(instance, "relay"), ground.instance(instance).version) == ("hi hi ping", OLD)
        ground.torn_down(instance)


def test_a_first_deploy_that_failed_can_be_asked_for_again(ground: Ground) -> None:
    with at_work(Echo(), ground.controller()):
        ground.hosts[0].run(BLOCKED)
        instance, deploy = ground.hub("blocked")
        ground.fails(deploy, "command_failed")
        assert ground.instance(instance).status == "failed"
        ground.hosts[0].run(OPENED)
        ground.succeeds(ground.operate(instance, "deploy"))
        assert ground.answers(instance) == "hi $1 %n ping"
        ground.torn_down(instance)


@pytest.mark.parametrize(("policy", "second"), [("continue", "ready"), ("stop", None)])
def test_of_many_members_one_fails_the_policy_decides_about_the_rest_and_the_failed_one_recovers(
    ground: Ground, policy: str, second: str | None
) -> None:
    with at_work(Echo(), ground.controller()):
        instance, deploy = ground.hub(f"bulk-{policy}")
        ground.succeeds(deploy)
        ground.hosts[1].run(BLOCKED)
        bulk = ground.fails(ground.add(instance, *ground.places[1:], on_failure=policy), "some_failed")
        assert bulk.children == {"failed": 1, "succeeded" if second else "cancelled": 1}
        relays = {one.allocation_id: one for one in ground.members(instance, "relay")}
        failed = relays.pop(ground.places[1])
        assert (failed.status, failed.failure and failed.failure.code) == ("failed", "command_failed")
        assert [one.status for one in relays.values()] == ([second] if second else [])
        ground.hosts[1].run(OPENED)
        ground.succeeds(ground.change(instance, "recover", failed))
        assert says(ground.hosts[1].address, RELAY, "ping") == "hi $1 %n hi $1 %n ping"
        ground.succeeds(ground.change(instance, "remove", *ground.members(instance, "relay")))
        ground.torn_down(instance)


def test_a_member_whose_host_lost_power_is_noticed_and_recovers_when_the_host_is_back(ground: Ground) -> None:
    app = Echo()
    app.health_seconds = 1.0
    with at_work(app, ground.controller()):
        instance, deploy = ground.deploy(
            "dark", [("hub", ground.places[0]), ("relay", ground.places[1])], greeting="hi"
        )
        ground.succeeds(deploy)
        ground.hosts[1].run(["systemctl", "disable", "echo-relay"])  # so that it does not come back by itself
        ground.hosts[1].power_cut()
        lost = _silent_relay(ground, instance)
        assert ground.instance(instance).health == "degraded"
        ground.fails(ground.change(instance, "recover", lost), "host_unreachable")
        ground.hosts[1].power_on()
        ground.hosts[1].wait_ssh()
        ground.succeeds(ground.change(instance, "recover", lost))
        assert ground.answers(instance, "relay") == "hi hi ping"
        ground.torn_down(instance)


def _silent_relay(ground: Ground, instance: str) -> InstanceMember:
    def look() -> InstanceMember | None:
        relay = ground.member(instance, "relay")
        return relay if relay.status == "degraded" else None

    return ground.world.admin.wait_for(look, 60, "the health check to miss the relay")


def test_the_hub_moves_to_another_machine_and_the_relays_follow_at_the_next_reconcile(ground: Ground) -> None:
    with at_work(Echo(), ground.controller()):
        instance, deploy = ground.deploy(
            "moves", [("hub", ground.places[0]), ("relay", ground.places[1])], greeting="hi"
        )
        ground.succeeds(deploy)
        moved = ground.succeeds(ground.replace(instance, ground.member(instance, "hub"), ground.places[2]))
        assert [(one.status, one.allocation_id) for one in ground.receipts(moved)] == [("clean", ground.places[0])]
        ground.succeeds(ground.operate(instance, "reconcile"))
        assert (ground.answers(instance), ground.answers(instance, "relay")) == ("hi ping", "hi hi ping")
        ground.torn_down(instance)


def test_an_operation_that_is_cancelled_between_two_steps_ends_there_and_can_be_asked_for_again(ground: Ground) -> None:
    def cancel(step: str) -> None:
        [live] = ground.world.admin.operations.list(ground.project_id, status="running")
        if live.kind == "restart" and step == "stop" and live.cancel_requested_at is None:
            ground.world.admin.operations.cancel(ground.project_id, live.id, reason="changed my mind")

    with at_work(Echo(), ground.controller(), cancel):
        instance, deploy = ground.hub("cancelled")
        ground.succeeds(deploy)
        ended = ground.ended(ground.operate(instance, "restart"))
        assert (ended.status, [one.name for one in ended.steps]) == ("cancelled", ["stop"])
        assert (ground.instance(instance).status, ground.answers(instance)) == ("failed", "")
        ground.succeeds(ground.operate(instance, "start"))
        assert ground.answers(instance) == "hi $1 %n ping"
        ground.torn_down(instance)


async def test_handlers_interrupted_after_every_step_and_run_twice_leave_what_one_quiet_run_leaves(
    ground: Ground,
) -> None:
    async with interrupting_replicas(Echo(), ground.controller()) as interruptions:
        instance, deploy = await asyncio.to_thread(ground.hub, "proof")
        await asyncio.to_thread(ground.succeeds, deploy)
        assert interruptions.seen == ["install", "start"]
        assert ground.answers(instance) == "hi $1 %n ping"
        for verb, steps in (("restart", ["stop", "install", "start"]), ("stop", ["stop"])):
            await asyncio.to_thread(ground.succeeds, ground.operate(instance, verb))
            assert interruptions.seen == steps
        await asyncio.to_thread(ground.torn_down, instance)
        assert interruptions.seen == ["stop", "remove"]


class Liar(Echo):
    async def teardown(self, ctx: Context) -> None:
        async with ctx.step("remove"):
            pass


def test_a_controller_that_only_says_that_it_tore_down_is_found_out(ground: Ground) -> None:
    with at_work(Echo(), ground.controller()):
        instance, deploy = ground.hub("lie")
        ground.succeeds(deploy)
    with at_work(Liar(), ground.controller()):
        lie = ground.fails(ground.operate(instance, "decommission"), "teardown_incomplete")
    assert lie.failure is not None
    assert "echo-hub.service" in lie.failure.message
    assert {one.verified for one in ground.receipts(lie)} == {False}
    with at_work(Echo(), ground.controller()):
        ground.torn_down(instance)


class Litterer(Echo):
    """Starts something beside its unit, under a name and an account that say nothing, and forgets it."""

    async def start(self, ctx: Context) -> None:
        await super().start(ctx)
        for member in ctx.members_of("hub"):
            forgotten = "setsid sleep 9999 >/dev/null 2>&1 </dev/null &"
            await (await ctx.host(member)).sudo(["sh", "-c", forgotten])


def test_a_process_that_a_handler_started_and_left_behind_is_found_by_its_mark(ground: Ground) -> None:
    with at_work(Litterer(), ground.controller()):
        instance, deploy = ground.hub("litter")
        ground.succeeds(deploy)
        ground.succeeds(ground.operate(instance, "restart"))
        left = ground.fails(ground.operate(instance, "stop"), "teardown_incomplete")
        [receipt] = ground.receipts(left)
        checks = ground.world.admin.receipts.show(ground.project_id, receipt.id).checks
        [processes] = [one for one in checks if one.name == "processes"]
        assert [one.why for one in processes.found] == ["carries the instance's mark"]
        ground.hosts[0].run(["pkill", "-x", "sleep"])
        ground.torn_down(instance)
