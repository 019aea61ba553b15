"""The reference app on real hosts, through the public API alone: every verb, a controller killed in the middle, and a lie."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from importlib.resources import files
from pathlib import Path

import pytest

from gpuaas_echo.controller import Echo
from gpuaas_lab import Fleet
from gpuaas_sdk import InstanceMember, MemberChange, Operation
from gpuaas_sdk.controller import Context, ControllerSettings
from gpuaas_sdk.testing import RunningServer, Stage, World, as_replica, free_port, proving, running

pytestmark = [pytest.mark.lab, pytest.mark.timeout(600)]
HUB, RELAY = 7007, 7008


class Ground(Stage):
    """The app in the catalogue, and two whole machines for it."""

    places: list[str]
    fleet: Fleet

    def kill(self, victim: str) -> None:
        """kill -9; whoever watches over it starts it again."""
        if victim == "agent":
            for host in self.fleet.hosts:
                host.kill_agent()
        else:
            self.world.server.kill(victim)

    async def does(self, begin: Callable[[], Operation], seconds: float = 120.0) -> Operation:
        operation = await asyncio.to_thread(begin)
        return await asyncio.to_thread(self.ended, operation, seconds)

    async def succeeds(self, begin: Callable[[], Operation], seconds: float = 120.0) -> Operation:
        done = await self.does(begin, seconds)
        assert done.status == "succeeded", (done.kind, done.failure, done.steps)
        return done

    async def deployed(self, name: str) -> str:
        """A hub on the first machine."""
        instance, operation = await asyncio.to_thread(self.deploy, name, [("hub", self.places[0])], greeting="hi $1 %n")
        await self.succeeds(lambda: operation)
        return instance

    async def verb(self, instance: str, verb: str) -> Operation:
        return await self.succeeds(lambda: self.operate(instance, verb))

    async def torn_down(self, instance: str) -> None:
        gone = await self.verb(instance, "decommission")
        assert {(one.status, one.verified, one.depth) for one in self.receipts(gone)} == {("clean", True, "gone")}

    async def member_verb(self, instance: str, kind: str, member: InstanceMember) -> Operation:
        return await self.succeeds(lambda: self.change_members(instance, MemberChange(kind=kind, targets=[member.id])))

    def member(self, instance: str, component: str) -> InstanceMember:
        members = self.world.admin.instances.members(self.project_id, instance)
        return next(one for one in members if one.component_key == component)

    def address(self, instance: str, component: str) -> str:
        return str((self.member(instance, component).adapter_detail or {})["address"])


@pytest.fixture(scope="module")
def ground() -> Iterator[Ground]:
    with Fleet(name="echo", hosts=2) as fleet:
        bind = f"{fleet.gateway}:{free_port()}"
        urls = json.dumps([f"https://{bind}"])
        with RunningServer.start(https_bind=bind, agent_urls=urls, login_rate_per_minute="100000") as server:
            world = World.create(server)
            world.offer()
            token = world.admin.enrolment_tokens.create(max_uses=2)
            for host in fleet.hosts:
                host.start_agent(token.bundle or "")
            world._approve_new(set(), 2)
            made = Ground(world, Echo.slug)
            made.fleet = fleet
            app = files("gpuaas_echo")
            made.publish(app.joinpath("manifest.yaml").read_text(), app.joinpath("echod").read_bytes())
            made.places = made.allocate(2, "h100-node", None)
            yield made


def says(address: str, port: int, line: str = "ping") -> str:
    """What comes back, or nothing where nobody listens."""
    try:
        with socket.create_connection((address, port), 5) as peer:
            peer.sendall(line.encode() + b"\n")
            return peer.makefile().readline().strip()
    except OSError:
        return ""


async def test_every_verb_does_on_real_hosts_what_it_says(ground: Ground) -> None:
    async with running(Echo(), ground.controller()):
        instance = await ground.deployed("story")
        hub = ground.address(instance, "hub")
        assert says(hub, HUB) == "hi $1 %n ping"
        assert ground.instance(instance).access_bundle == {"talk": f"nc {hub} {HUB}", "health": f"nc -z {hub} {HUB}"}

        add = MemberChange(kind="add", component_key="relay", allocation_ids=[ground.places[1]])
        await ground.succeeds(lambda: ground.change_members(instance, add))
        relay = ground.address(instance, "relay")
        assert relay != hub
        assert says(relay, RELAY) == "hi $1 %n hi $1 %n ping"  # through the hub on the other machine

        await ground.verb(instance, "stop")
        assert (says(hub, HUB), says(relay, RELAY), ground.instance(instance).status) == ("", "", "stopped")
        for verb in ("start", "restart", "reconcile"):
            await ground.verb(instance, verb)
            assert says(relay, RELAY) == "hi $1 %n hi $1 %n ping"

        await ground.member_verb(instance, "drain", ground.member(instance, "relay"))
        assert says(relay, RELAY) == ""
        removed = await ground.member_verb(instance, "remove", ground.member(instance, "relay"))
        [receipt] = ground.receipts(removed)
        assert (receipt.status, receipt.verified, receipt.allocation_id) == ("clean", True, ground.places[1])
        assert says(hub, HUB) == "hi $1 %n ping"

        await ground.torn_down(instance)
        assert says(hub, HUB) == ""


async def test_handlers_interrupted_after_every_step_and_run_twice_leave_what_one_quiet_run_leaves(
    ground: Ground,
) -> None:
    async with proving(Echo(), ground.controller()) as interruptions:
        instance = await ground.deployed("proof")
        assert interruptions.seen == ["install", "start"]
        assert says(ground.address(instance, "hub"), HUB) == "hi $1 %n ping"
        for verb, steps in (("restart", ["stop", "install", "start"]), ("stop", ["stop"])):
            await ground.verb(instance, verb)
            assert interruptions.seen == steps
        await ground.torn_down(instance)
        assert interruptions.seen == ["stop", "remove"]


class Liar(Echo):
    async def teardown(self, ctx: Context) -> None:
        async with ctx.step("remove"):
            pass


async def test_a_controller_that_only_says_that_it_tore_down_is_found_out(ground: Ground) -> None:
    async with running(Echo(), ground.controller()):
        instance = await ground.deployed("lie")
    async with running(Liar(), ground.controller()):
        lie = await ground.does(lambda: ground.operate(instance, "decommission"))
    assert (lie.status, lie.failure and lie.failure.code) == ("failed", "teardown_incomplete")
    assert lie.failure is not None
    assert "echo-hub.service" in lie.failure.message
    assert {one.verified for one in ground.receipts(lie)} == {False}
    async with running(Echo(), ground.controller()):
        await ground.torn_down(instance)


def test_a_controller_killed_in_the_middle_of_a_deploy_is_followed_by_another_replica(
    ground: Ground, tmp_path: Path
) -> None:
    settings = ground.controller()
    first = process(settings, tmp_path)
    try:
        instance, operation = ground.deploy("killed", [("hub", ground.places[0])], greeting="hi")
        ground.world.admin.wait_for(lambda: _steps(ground, operation), 30, "the first step")
        os.kill(first.pid, signal.SIGKILL)
    finally:
        first.kill()
        first.wait(10)
    second = process(as_replica(settings, "replica-2"), tmp_path)
    try:
        done = ground.ended(operation)
        assert (done.status, done.attempt, done.replica) == ("succeeded", 2, "replica-2"), done.failure
        assert says(ground.address(instance, "hub"), HUB) == "hi ping"
        gone = ground.ended(ground.operate(instance, "decommission"))
        assert {(one.status, one.verified) for one in ground.receipts(gone)} == {("clean", True)}
        second.send_signal(signal.SIGTERM)
        assert second.wait(20) == 0
    finally:
        second.kill()
        second.wait(10)


def _steps(ground: Ground, operation: Operation) -> bool:
    return bool(ground.world.admin.operations.show(ground.project_id, operation.id).steps)


@pytest.mark.slow
@pytest.mark.parametrize("victim", ["api", "worker", "postgres", "agent"])
async def test_whatever_is_killed_during_a_verb_changes_nothing_but_the_time(ground: Ground, victim: str) -> None:
    async with running(Echo(), ground.controller()):
        instance, deploy = await asyncio.to_thread(
            ground.deploy, f"kill-{victim}", [("hub", ground.places[0]), ("relay", ground.places[1])], greeting="hi"
        )
        await _killed_during(ground, deploy, victim)
        assert says(ground.address(instance, "relay"), RELAY) == "hi hi ping"
        for verb in ("restart", "stop", "start", "decommission"):
            await _killed_during(ground, await asyncio.to_thread(ground.operate, instance, verb), victim)
    ends = [one.status for one in ground.world.admin.receipts.list(ground.project_id) if one.instance_id == instance]
    assert ends == ["clean"] * 4  # two members, at the stop and at the end


async def _killed_during(ground: Ground, operation: Operation, victim: str) -> None:
    await asyncio.to_thread(ground.world.admin.wait_for, lambda: _steps(ground, operation), 60, "a step")
    ground.kill(victim)
    done = await asyncio.to_thread(ground.ended, operation)
    assert done.status == "succeeded", (done.kind, done.failure, done.steps)


@pytest.mark.slow
def test_a_controller_killed_at_every_step_of_a_verb_goes_on_under_its_name(ground: Ground, tmp_path: Path) -> None:
    settings = ground.controller()
    running_now = process(settings, tmp_path)
    kills = 0
    try:
        instance, operation = ground.deploy("resumed", [("hub", ground.places[0])], greeting="hi")
        for verb in ("", "restart", "decommission"):
            operation = ground.operate(instance, verb) if verb else operation
            seen: set[tuple[str, str]] = set()
            while (now := ground.world.admin.operations.show(ground.project_id, operation.id)).live:
                states = {(one.name, one.status) for one in now.steps}
                if not states <= seen:
                    seen |= states
                    kills += 1
                    running_now.kill()
                    running_now.wait(10)
                    running_now = process(settings, tmp_path)
                time.sleep(0.02)
            assert now.status == "succeeded", (now.kind, now.failure, now.steps)
            if verb != "decommission":
                assert says(ground.address(instance, "hub"), HUB) == "hi ping"
        assert {one.status for one in ground.receipts(operation)} == {"clean"}
        assert kills >= 3
    finally:
        running_now.kill()
        running_now.wait(10)


def process(settings: ControllerSettings, folder: Path) -> subprocess.Popen[bytes]:
    """The controller as its users run it."""
    secret = folder / "secret"
    secret.write_text(settings.client_secret)
    environment = {
        **os.environ,
        "GPUAAS_URL": settings.url,
        "GPUAAS_PROJECT": settings.project_id,
        "GPUAAS_CLIENT_ID": settings.client_id,
        "GPUAAS_CLIENT_SECRET_FILE": str(secret),
        "GPUAAS_REPLICA": settings.replica,
    }
    with (folder / f"{settings.replica}.log").open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "gpuaas_echo.controller"], env=environment, stdout=log, stderr=log
        )
