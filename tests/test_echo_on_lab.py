"""The reference app on real hosts, through the public API alone: what goes wrong, the way out of it, and lies.

Every verb in a row, with everything that takes part in it killed meanwhile, is in test_echo_killed_on_lab.py.
"""

import asyncio
from collections.abc import Iterator
from importlib.resources import files

import pytest

from gpuaas_echo.controller import Echo
from gpuaas_sdk import InstanceMember, NotFound
from gpuaas_sdk.controller import Context
from gpuaas_sdk.testing import Sandbox, interrupting_replicas
from system_support.echo_lab import NEW, OLD, RELAY, EchoLab, at_work, echo_lab, says

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
BLOCKED = ["touch", "/opt/echo"]  # a file where the app wants its folder
OPENED = ["rm", "-f", "/opt/echo"]


@pytest.fixture(scope="module")
def whole_ground() -> Iterator[EchoLab]:
    with echo_lab("echo") as made:
        yield made


@pytest.fixture
def lab(whole_ground: EchoLab) -> Iterator[EchoLab]:
    yield whole_ground
    whole_ground.clear()


def shown(lab: EchoLab, host: int, role: str = "hub") -> str:
    """What the host's own systemd says of the unit."""
    asked = ["systemctl", "show", "--value", "--property=Description,Environment", f"echo-{role}.service"]
    return lab.hosts[host].run(asked).stdout


def test_the_unit_shows_the_version_that_runs_and_the_instance_that_it_is_of(lab: EchoLab) -> None:
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.hub("versions")
        lab.succeeds(deploy)
        address = lab.hosts[0].address
        assert lab.instance(instance).access_bundle == {
            "talk": f"nc {address} 7007",
            "health": f"nc -z {address} 7007",
        }
        assert lab.answers(instance) == "hi $1 %n ping"
        for version, change in ((OLD, "reconcile"), (NEW, "upgrade"), (OLD, "rollback")):
            upgrade = change == "upgrade"
            lab.succeeds(lab.upgrade(instance, NEW) if upgrade else lab.operate(instance, change))
            assert f"echo hub {version}" in shown(lab, 0)
            assert f"GPUAAS_INSTANCE={instance}" in shown(lab, 0)
            now = lab.instance(instance)
            assert (now.version, (now.runtime or {})["version"]) == (version, version)
        lab.torn_down(instance)


def test_an_upgrade_that_breaks_off_leaves_the_version_and_a_rollback_restores_it(lab: EchoLab) -> None:
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.deploy("half", [("hub", lab.places[0]), ("relay", lab.places[1])], greeting="hi")
        lab.succeeds(deploy)
        relay = lab.hosts[1]
        relay.run(["sh", "-c", "systemctl stop echo-relay; rm -r /opt/echo; touch /opt/echo"])
        broken = lab.fails(lab.upgrade(instance, NEW), "host_refused")
        assert broken.steps[-1].member_id == lab.member(instance, "relay").id
        now = lab.instance(instance)
        assert (now.version, lab.answers(instance)) == (OLD, "hi, ping")  # half-way: the hub is ahead
        relay.run(OPENED)
        lab.succeeds(lab.operate(instance, "rollback"))
        assert (lab.answers(instance, "relay"), lab.instance(instance).version) == ("hi hi ping", OLD)
        lab.torn_down(instance)


def test_the_lines_that_a_hub_has_answered_are_recorded_as_usage_over_restarts(lab: EchoLab) -> None:
    app = Echo()
    app.health_seconds = 1.0

    def lines(instance: str) -> int:
        found = lab.sandbox.admin.app_usage.totals(lab.project_id, instance_id=instance)
        return sum(one.quantity for one in found if one.metric == "lines")

    with at_work(app, lab.controller()):
        instance, deploy = lab.hub("counted")
        lab.succeeds(deploy)
        for _ in range(3):
            assert lab.answers(instance) == "hi $1 %n ping"
        lab.sandbox.admin.wait_for(lambda: lines(instance) == 3 or None, 60, "the usage of a hub that runs")
        assert lab.answers(instance) == "hi $1 %n ping"
        lab.succeeds(lab.operate(instance, "restart"))
        assert lines(instance) == 4  # the operation itself has recorded what no health check saw
        assert lab.answers(instance) == "hi $1 %n ping"
        lab.torn_down(instance)
    assert lines(instance) == 5


def test_a_first_deploy_that_failed_can_be_asked_for_again(lab: EchoLab) -> None:
    with at_work(Echo(), lab.controller()):
        lab.hosts[0].run(BLOCKED)
        instance, deploy = lab.hub("blocked")
        lab.fails(deploy, "host_refused")
        assert lab.instance(instance).status == "failed"
        lab.hosts[0].run(OPENED)
        lab.succeeds(lab.operate(instance, "deploy"))
        assert lab.answers(instance) == "hi $1 %n ping"
        lab.torn_down(instance)


@pytest.mark.parametrize(("policy", "second"), [("continue", "ready"), ("stop", None)])
def test_of_many_members_one_fails_the_policy_decides_about_the_rest_and_the_failed_one_recovers(
    lab: EchoLab, policy: str, second: str | None
) -> None:
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.hub(f"bulk-{policy}")
        lab.succeeds(deploy)
        lab.hosts[1].run(BLOCKED)
        bulk = lab.fails(lab.add(instance, *lab.places[1:], on_failure=policy), "member_operations_failed")
        assert bulk.children == {"failed": 1, "succeeded" if second else "cancelled": 1}
        relays = {one.allocation_id: one for one in lab.members(instance, "relay")}
        failed = relays.pop(lab.places[1])
        assert (failed.status, failed.failure and failed.failure.code) == ("failed", "host_refused")
        assert [one.status for one in relays.values()] == ([second] if second else [])
        lab.hosts[1].run(OPENED)
        lab.succeeds(lab.change(instance, "recover", failed))
        assert says(lab.hosts[1].address, RELAY, "ping") == "hi $1 %n hi $1 %n ping"
        lab.succeeds(lab.change(instance, "remove", *lab.members(instance, "relay")))
        lab.torn_down(instance)


def test_a_member_whose_host_lost_power_is_noticed_and_recovers_when_the_host_is_back(lab: EchoLab) -> None:
    app = Echo()
    app.health_seconds = 1.0
    with at_work(app, lab.controller()):
        instance, deploy = lab.deploy("dark", [("hub", lab.places[0]), ("relay", lab.places[1])], greeting="hi")
        lab.succeeds(deploy)
        lab.hosts[1].run(["systemctl", "disable", "echo-relay"])  # so that it does not come back by itself
        lab.hosts[1].power_cut()
        lost = _silent_relay(lab, instance)
        assert lab.instance(instance).health == "degraded"
        lab.fails(lab.change(instance, "recover", lost), "host_unreachable")
        lab.hosts[1].power_on()
        lab.hosts[1].wait_ssh()
        lab.succeeds(lab.change(instance, "recover", lost))
        assert lab.answers(instance, "relay") == "hi hi ping"
        lab.torn_down(instance)


def _silent_relay(lab: EchoLab, instance: str) -> InstanceMember:
    def look() -> InstanceMember | None:
        relay = lab.member(instance, "relay")
        return relay if relay.status == "degraded" else None

    return lab.sandbox.admin.wait_for(look, 60, "the health check to miss the relay")


def test_the_hub_moves_to_another_machine_and_the_relays_follow_in_the_same_operation(lab: EchoLab) -> None:
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.deploy("moves", [("hub", lab.places[0]), ("relay", lab.places[1])], greeting="hi")
        lab.succeeds(deploy)
        moved = lab.succeeds(lab.replace(instance, lab.member(instance, "hub"), lab.places[2]))
        assert [(one.status, one.allocation_id) for one in lab.receipts(moved)] == [("clean", lab.places[0])]
        assert (lab.answers(instance), lab.answers(instance, "relay")) == ("hi ping", "hi hi ping")
        lab.torn_down(instance)


def test_the_hub_moves_also_when_a_relay_is_out_of_reach_and_the_relay_follows_when_it_is_recovered(
    lab: EchoLab,
) -> None:
    app = Echo()
    app.health_seconds = 1.0
    with at_work(app, lab.controller()):
        instance, deploy = lab.deploy("apart", [("hub", lab.places[0]), ("relay", lab.places[1])], greeting="hi")
        lab.succeeds(deploy)
        lab.hosts[1].power_cut()
        moved = lab.succeeds(lab.replace(instance, lab.member(instance, "hub"), lab.places[2]))
        assert [one.status for one in moved.steps if one.name == "follow-hub"] == ["failed"]
        lab.hosts[1].power_on()
        lab.hosts[1].wait_ssh()
        lab.succeeds(lab.change(instance, "recover", _silent_relay(lab, instance)))
        assert (lab.answers(instance), lab.answers(instance, "relay")) == ("hi ping", "hi hi ping")
        lab.torn_down(instance)


def test_an_operation_that_is_cancelled_between_two_steps_ends_there_and_can_be_asked_for_again(lab: EchoLab) -> None:
    def cancel(step: str) -> None:
        [live] = lab.sandbox.admin.operations.list(lab.project_id, status="running")
        if live.kind == "restart" and step == "stop" and live.cancel_requested_at is None:
            lab.sandbox.admin.operations.cancel(lab.project_id, live.id, reason="changed my mind")

    with at_work(Echo(), lab.controller(), cancel):
        instance, deploy = lab.hub("cancelled")
        lab.succeeds(deploy)
        ended = lab.ended(lab.operate(instance, "restart"))
        assert (ended.status, [one.name for one in ended.steps]) == ("cancelled", ["usage", "stop"])
        assert (lab.instance(instance).status, lab.answers(instance)) == ("failed", "")
        lab.succeeds(lab.operate(instance, "start"))
        assert lab.answers(instance) == "hi $1 %n ping"
        lab.torn_down(instance)


async def test_handlers_interrupted_after_every_step_and_run_twice_leave_what_one_quiet_run_leaves(
    lab: EchoLab,
) -> None:
    async with interrupting_replicas(Echo(), lab.controller()) as interruptions:
        instance, deploy = await asyncio.to_thread(lab.hub, "proof")
        await asyncio.to_thread(lab.succeeds, deploy)
        assert interruptions.seen == ["install", "start"]
        assert lab.answers(instance) == "hi $1 %n ping"
        for verb, steps in (("restart", ["usage", "stop", "install", "start"]), ("stop", ["usage", "stop"])):
            await asyncio.to_thread(lab.succeeds, lab.operate(instance, verb))
            assert interruptions.seen == steps
        await asyncio.to_thread(lab.torn_down, instance)
        assert interruptions.seen == ["usage", "stop", "remove"]


class Liar(Echo):
    async def decommission(self, ctx: Context) -> None:
        async with ctx.step("remove"):
            pass


def test_a_controller_that_only_says_that_it_tore_down_is_found_out(lab: EchoLab) -> None:
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.hub("lie")
        lab.succeeds(deploy)
    with at_work(Liar(), lab.controller()):
        lie = lab.fails(lab.operate(instance, "decommission"), "teardown_incomplete")
    assert lie.failure is not None
    assert "echo-hub.service" in lie.failure.message
    assert {one.verified for one in lab.receipts(lie)} == {False}
    with at_work(Echo(), lab.controller()):
        lab.torn_down(instance)


class Litterer(Echo):
    """Starts something beside its unit, under a name and an account that say nothing, and forgets it."""

    async def start(self, ctx: Context) -> None:
        await super().start(ctx)
        for member in ctx.members_of("hub"):
            forgotten = "setsid sleep 9999 >/dev/null 2>&1 </dev/null &"
            await (await ctx.host(member)).sudo(["sh", "-c", forgotten])


def test_a_process_that_a_handler_started_and_left_behind_is_found_by_its_mark(lab: EchoLab) -> None:
    with at_work(Litterer(), lab.controller()):
        instance, deploy = lab.hub("leftover")
        lab.succeeds(deploy)
        lab.succeeds(lab.operate(instance, "restart"))
        left = lab.fails(lab.operate(instance, "stop"), "teardown_incomplete")
        [receipt] = lab.receipts(left)
        checks = lab.sandbox.admin.receipts.show(lab.project_id, receipt.id).checks
        [processes] = [one for one in checks if one.name == "processes"]
        assert [one.why for one in processes.found] == ["carries the instance's mark"]
        lab.hosts[0].run(["pkill", "-x", "sleep"])
        lab.torn_down(instance)


SECRETIVE = "0.4.0"  # the app as it is, with a secret that its members share
SECRET_FILE = "/opt/echo/cluster-key"


class Secretive(Echo):
    """Brings the secret of the instance to every member."""

    async def deploy(self, ctx: Context) -> None:
        if not ctx.rotates_secrets:
            await super().deploy(ctx)
        for member in ctx.members:
            async with ctx.step("deliver-secret", member):
                host = await ctx.host(member)
                await host.put(SECRET_FILE, await ctx.secret("cluster-key"), owner="echo", mode=0o400)
            ctx.set_member_status(member, "ready")

    add = reconcile = start = deploy


def test_members_get_the_instances_secret_and_another_one_when_one_of_them_leaves(lab: EchoLab) -> None:
    app = files("gpuaas_echo")
    declared = "secrets:\n  - {key: cluster-key, source: generated, kind: bytes, length: 48}\n"
    manifest = app.joinpath("manifest.yaml").read_text().replace(OLD, SECRETIVE) + declared
    lab.publish(manifest, app.joinpath("echod").read_bytes())

    def known(host: int) -> str:
        return lab.hosts[host].run(["base64", "--wrap=0", SECRET_FILE]).stdout.strip()

    with at_work(Secretive(), lab.controller()):
        instance, deploy = lab.deploy("secretive", [("hub", lab.places[0])], version=SECRETIVE, greeting="hi")
        lab.succeeds(deploy)
        lab.succeeds(lab.add(instance, lab.places[1]))
        first = known(0)
        assert (len(first), known(1)) == (64, first)
        left = lab.succeeds(lab.change(instance, "remove", lab.member(instance, "relay")))
        rotation = lab.rotation_after(left)
        assert (rotation.status, rotation.parameters["secrets"]) == ("succeeded", ["cluster-key"]), rotation.failure
        assert known(0) != first
        [shown] = lab.sandbox.admin.instances.secrets(lab.project_id, instance).items
        assert (shown.version, shown.rotation_due) == (2, False)
        lab.torn_down(instance)


def test_a_second_tenant_is_served_by_the_publishers_controller_and_is_apart_from_the_first(lab: EchoLab) -> None:
    """One process serves both. It comes last: the third host goes to the second tenant."""
    admin, settings = lab.sandbox.admin, lab.controller()
    other = _second_tenant(lab)
    admin.controller_bindings.create(lab.project_id, lab.slug, settings.client_id)
    with at_work(Echo(), settings):
        mine, deploy = lab.hub("publishers")
        lab.succeeds(deploy)
        theirs, waits = other.deploy("tenants", [("hub", other.places[2])], greeting="apart")
        lab.verb(mine, "reconcile")
        assert admin.operations.show(other.project_id, waits.id).status == "pending", "the tenant has not consented yet"
        consent = admin.controller_consents.give(other.sandbox.tenant_id, lab.slug)
        other.succeeds(waits)
        assert (lab.answers(mine), other.answers(theirs)) == ("hi $1 %n ping", "apart ping")
        _are_apart(lab, mine, other, theirs)
        admin.controller_consents.withdraw(other.sandbox.tenant_id, consent.id, reason="we stop here")
        waits = other.operate(theirs, "restart")
        lab.verb(mine, "restart")
        assert admin.operations.show(other.project_id, waits.id).status == "pending", (
            "the tenant has withdrawn its consent"
        )
        assert (lab.answers(mine), other.answers(theirs)) == ("hi $1 %n ping", "apart ping")
        admin.controller_consents.give(other.sandbox.tenant_id, lab.slug)
        other.succeeds(waits)
        other.torn_down(theirs)
        lab.torn_down(mine)


def _second_tenant(lab: EchoLab) -> EchoLab:
    """A tenant that is entitled to the app and has the third host."""
    admin, second = lab.sandbox.admin, Sandbox.create(lab.sandbox.server)
    admin.allocations.release(lab.project_id, lab.places[2])
    list(admin.allocations.follow(lab.project_id, [lab.places[2]], 180.0))
    admin.apps.set_visibility(admin.catalog.show(lab.project_id, lab.slug).id, "entitled", "for a second tenant")
    admin.entitlements.grant(second.tenant_id, lab.slug)
    other = EchoLab(second, lab.slug)
    [place] = other.allocate(1, "h100-node", None)
    other.fleet, other.places = lab.fleet, ["", "", place]
    return other


def _are_apart(lab: EchoLab, mine: str, other: EchoLab, theirs: str) -> None:
    """Whoever administers one tenant finds nothing of the other, and on its hosts is nothing of the other."""
    for here, own, there, foreign in ((lab, mine, other, theirs), (other, theirs, lab, mine)):
        person = here.sandbox.person("tenant_admin")
        assert [one.id for one in person.instances.list(here.project_id) if one.status == "running"] == [own]
        with pytest.raises(NotFound):
            person.instances.show(there.project_id, foreign)
        with pytest.raises(NotFound):
            list(person.operations.list(there.project_id))
        host = here.hosts[here.places.index(here.member(own, "hub").allocation_id)]
        assert host.run(["grep", "-l", foreign, "/etc/systemd/system/echo-hub.service"], check=False).stdout == ""
        assert own in host.read_file("/etc/systemd/system/echo-hub.service")
