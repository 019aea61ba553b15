"""Probes on real hosts, through the public API alone: the agent's word decides, not the controller's."""

from collections.abc import Iterator
from importlib.resources import files

import pytest

from gpuaas_echo.controller import Echo
from gpuaas_sdk import Instance
from gpuaas_sdk.controller import Context
from system_support.echo_lab import OLD, EchoLab, at_work, echo_lab

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
QUICK = "0.3.0"  # the app as it is, with probes that need seconds
UNIT = "echo-hub.service"


@pytest.fixture(scope="module")
def whole_ground() -> Iterator[EchoLab]:
    with echo_lab("probes") as made:
        app = files("gpuaas_echo")
        purpose = "purpose: [readiness, liveness]"
        quick = f"{purpose}, start_period_seconds: 1, interval_seconds: 1, failures: 2"
        manifest = app.joinpath("manifest.yaml").read_text().replace(OLD, QUICK).replace(purpose, quick)
        made.publish(manifest, app.joinpath("echod").read_bytes())
        yield made


@pytest.fixture
def lab(whole_ground: EchoLab) -> Iterator[EchoLab]:
    yield whole_ground
    whole_ground.clear()


def test_a_member_is_ready_once_its_host_says_so_and_a_new_one_joins_in_the_same_way(lab: EchoLab) -> None:
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.deploy("ready", [("hub", lab.places[0])], version=QUICK, greeting="hi")
        lab.succeeds(deploy)
        lab.succeeds(lab.add(instance, lab.places[1]))
        events = [one.type for one in lab.sandbox.admin.instances.timeline(lab.project_id, instance).items]
        assert events.index("operation.probing") < events.index("instance.start_completed")
        for component in ("hub", "relay"):
            [probe] = lab.member(instance, component).probes
            assert (probe.key, probe.status, probe.answer) == (f"{component}-answers", "passing", "connected")
        lab.torn_down(instance)


class Boaster(Echo):
    """Stops what it has started, and says that it is ready."""

    async def deploy(self, ctx: Context) -> None:
        await super().deploy(ctx)
        for member in ctx.members_of("hub"):
            await (await ctx.host(member)).sudo(["systemctl", "stop", UNIT])

    start = deploy


def test_a_member_that_never_answers_fails_with_its_probe_and_the_last_answer(lab: EchoLab) -> None:
    with at_work(Boaster(), lab.controller()):
        instance, deploy = lab.deploy("boast", [("hub", lab.places[0])], version=QUICK, greeting="hi")
        failed = lab.fails(deploy, "readiness_timeout")
    member = lab.member(instance, "hub")
    assert failed.failure is not None
    for word in (member.id, "hub-answers", "connection refused"):
        assert word in failed.failure.message
    assert (member.status, member.failure and member.failure.code) == ("failed", "readiness_timeout")
    assert lab.instance(instance).status == "failed"
    with at_work(Echo(), lab.controller()):
        lab.succeeds(lab.operate(instance, "deploy"))
        assert lab.answers(instance) == "hi ping"
        lab.torn_down(instance)


def test_an_app_that_dies_is_noticed_without_its_controller_and_heals(lab: EchoLab) -> None:
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.deploy("dies", [("hub", lab.places[0])], version=QUICK, greeting="hi")
        lab.succeeds(deploy)
    lab.hosts[0].run(["systemctl", "stop", UNIT])
    broken = _with_health(lab, instance, "unhealthy")
    [reason] = [one for one in broken.health_reasons if one.code == "probe_failing"]
    assert "connection refused" in reason.message
    member = lab.member(instance, "hub")
    assert (member.status, member.health, reason.member_id) == ("ready", "unhealthy", member.id)
    lab.hosts[0].run(["systemctl", "start", UNIT])
    assert _with_health(lab, instance, "healthy").health_reasons == []
    with at_work(Echo(), lab.controller()):
        _mends_itself(lab, instance)
        lab.torn_down(instance)


def _mends_itself(lab: EchoLab, instance: str) -> None:
    """With the policy `auto`, a process that is gone is back without a person."""
    admin, project = lab.sandbox.admin, lab.project_id
    admin.instances.update(project, instance, "auto")
    lab.hosts[0].run(["systemctl", "stop", UNIT])
    noticed = admin.wait_for(lambda: lab.instance(instance).drift, 120, "the drift to be noticed")
    assert [one.member_id for one in noticed.members] == [lab.member(instance, "hub").id]
    assert _mending(lab, instance) == [("reconcile", "succeeded")]


def _mending(lab: EchoLab, instance: str) -> list[tuple[str, str]]:
    """Wait until the app answers and nothing is left to mend. Returns what the platform itself requested for it."""
    admin = lab.sandbox.admin

    def mended() -> Instance | None:
        found = lab.instance(instance)
        whole = (found.health, found.drift, found.operation_id) == ("healthy", None, None)
        return found if whole and lab.answers(instance) == "hi ping" else None

    admin.wait_for(mended, 120, "the instance to mend itself")
    listed = admin.operations.list(lab.project_id, instance_id=instance)
    return [(one.kind, one.status) for one in listed if one.requested_by == "system"]


@pytest.mark.slow
def test_an_app_that_does_not_start_with_its_host_is_mended_by_the_policy(lab: EchoLab) -> None:
    host, admin = lab.hosts[0], lab.sandbox.admin
    with at_work(Echo(), lab.controller()):
        instance, deploy = lab.deploy("restarts", [("hub", lab.places[0])], version=QUICK, greeting="hi")
        lab.succeeds(deploy)
        admin.instances.update(lab.project_id, instance, "auto")
        host.run(["systemctl", "disable", "--quiet", UNIT])
        host.power_cut()
        host.power_on()
        host.wait_ssh()
        assert ("reconcile", "succeeded") in _mending(lab, instance)
        assert host.run(["systemctl", "is-enabled", UNIT]).stdout == "enabled\n"
        lab.torn_down(instance)


def _with_health(lab: EchoLab, instance: str, health: str) -> Instance:
    def look() -> Instance | None:
        found = lab.instance(instance)
        return found if found.health == health else None

    found: Instance = lab.sandbox.admin.wait_for(look, 120, f"the instance to be {health}")
    return found


def test_a_host_whose_agent_is_cut_off_is_given_up_and_named(lab: EchoLab) -> None:
    lab.hosts[0].run(["systemctl", "stop", "gpuaas-agent"])
    try:
        with at_work(Echo(), lab.controller()):
            instance, deploy = lab.deploy("cut", [("hub", lab.places[0])], version=QUICK, greeting="hi")
            failed = lab.fails(deploy, "readiness_timeout")
        assert failed.failure is not None
        assert "the host has not answered" in failed.failure.message
        assert lab.answers(instance) == "hi ping", "it runs; nobody has proven it"
    finally:
        lab.hosts[0].run(["systemctl", "start", "gpuaas-agent"])
    with at_work(Echo(), lab.controller()):
        lab.succeeds(lab.operate(instance, "deploy"))
        lab.torn_down(instance)
