"""The controller framework against a real server and a simulated fleet: claims, steps, failures, ends, and replicas."""

import asyncio
import logging
import os
import signal
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

import pytest

from gpuaas_sdk import NewMemberOperation, Operation, Unauthenticated
from gpuaas_sdk.controller import (
    AppController,
    Context,
    ControllerClient,
    Failed,
    Health,
    InstanceSnapshot,
    Replica,
    connect,
    serve,
)
from gpuaas_sdk.controller.failures import Interrupted
from gpuaas_sdk.testing import CatalogApp, Sandbox, as_replica, interrupting_replicas, running_replica

MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Notes
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {}
components:
  - {key: head, min: 1, max: 1}
  - {key: leaf, min: 0, max: 4}
inputs: {type: object, properties: {tone: {type: string, default: low}}}
footprint: {units: [notes.service]}
"""


@dataclass
class Notes(AppController):
    """Records what it does. `trouble` is raised in the step `second`; `hold` keeps the step `first` waiting."""

    slug: str = ""
    done: list[str] = field(default_factory=list)
    trouble: Exception | None = None
    hold: asyncio.Event | None = None
    began: asyncio.Event = field(default_factory=asyncio.Event)
    health_seconds: float = 0.2

    async def bootstrap(self, ctx: Context) -> None:
        async with ctx.step("first"):
            self.done.append("first")
            self.began.set()
            if self.hold is not None:
                await self.hold.wait()
        await ctx.run_once("once", self._once)
        async with ctx.step("second"):
            if self.trouble is not None:
                raise self.trouble
            self.done.append("second")
        for member in ctx.members:
            ctx.set_member_status(member, "ready", detail={"seen": True})
        ctx.set_runtime(version=ctx.version.runtime_version, tone=ctx.inputs["tone"])
        ctx.set_access(talk="nc somewhere 7")

    async def _once(self) -> None:
        self.done.append("once")

    async def add(self, ctx: Context) -> None:
        async with ctx.step("join", ctx.new_member):
            self.done.append(f"join {[one.component_key for one in ctx.members]}")

    async def stop(self, ctx: Context) -> None:
        async with ctx.step("halt"):
            self.done.append("halt")

    async def start(self, ctx: Context) -> None:
        async with ctx.step("go"):
            self.done.append("go")

    async def health(self, snapshot: InstanceSnapshot) -> Health:
        health = Health()
        for member in snapshot.members:
            health.add_member(member, "it hums" if member.component_key == "head" else None)
        return health


@pytest.fixture(scope="module")
def catalog_app(fleet: Sandbox) -> CatalogApp:
    catalog_app = CatalogApp(fleet, f"notes-{fleet.project_id[-6:].lower()}")
    catalog_app.publish(MANIFEST.replace("{slug}", catalog_app.slug), b"what the controller is made of")
    return catalog_app


@pytest.fixture(scope="module")
def places(catalog_app: CatalogApp) -> list[str]:
    return catalog_app.allocate(2)


@pytest.fixture
def begin(catalog_app: CatalogApp, places: list[str]) -> Iterator[Callable[[], tuple[str, Operation]]]:
    """Deploys an instance. At the end the instance is decommissioned, so that its allocation is free for the next test."""
    made: list[str] = []

    def deploy() -> tuple[str, Operation]:
        instance, operation = catalog_app.deploy(f"n{len(made)}", [("head", places[0])])
        made.append(instance)
        return instance, operation

    yield deploy
    for instance in made:
        _decommission(catalog_app, instance)


def _decommission(catalog_app: CatalogApp, instance_id: str) -> None:
    class OnlyTeardown(AppController):
        async def teardown(self, ctx: Context) -> None:
            pass

    async def put() -> None:
        app = OnlyTeardown()
        app.slug = catalog_app.slug
        live = catalog_app.instance(instance_id).operation_id
        if live is not None:
            catalog_app.sandbox.admin.operations.cancel(catalog_app.project_id, live)
        async with running_replica(app, catalog_app.controller("away")):
            if live is not None:
                await ended(catalog_app, catalog_app.sandbox.admin.operations.show(catalog_app.project_id, live))
            operation = await asyncio.to_thread(catalog_app.operate, instance_id, "decommission")
            assert (await ended(catalog_app, operation)).status == "succeeded"

    asyncio.run(put())


async def ended(catalog_app: CatalogApp, operation: Operation) -> Operation:
    return await asyncio.to_thread(catalog_app.ended, operation, 30.0)


Begin = Callable[[], tuple[str, Operation]]


async def test_the_reports_of_a_handler_are_there_when_the_operation_has_ended(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    app = Notes(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()) as replica:
        instance, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
        assert (done.status, done.attempt, done.failure) == ("succeeded", 1, None)
        assert [(one.name, one.status) for one in done.steps] == [
            (name, "succeeded") for name in ("first", "once", "second")
        ]
        shown = catalog_app.instance(instance)
        assert (shown.status, shown.runtime) == ("running", {"version": "1", "tone": "low"})
        assert shown.access_bundle == {"talk": "nc somewhere 7"}
        server = await replica.metrics.serve(0)
        port = server.sockets[0].getsockname()[1]
        text = await asyncio.to_thread(_get, f"http://127.0.0.1:{port}/metrics")
        assert 'gpuaas_controller_ends_total{kind="deploy",outcome="succeeded"} 1' in text
        server.close()


def _get(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310
        text: str = answer.read().decode()
        return text


async def test_a_handler_gets_the_published_bytes_and_the_environment_of_its_instance(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    class Reads(Notes):
        async def bootstrap(self, ctx: Context) -> None:
            self.done = [(await ctx.fetch_artifact()).decode(), *ctx.environment.values()]

    app = Reads(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        assert (await ended(catalog_app, operation)).status == "succeeded"
    assert app.done == ["what the controller is made of", instance]


async def test_the_log_has_a_line_for_the_connection_and_for_the_start_and_end_of_each_operation(
    catalog_app: CatalogApp, begin: Begin, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gpuaas_sdk.controller")
    settings = catalog_app.controller()
    trouble = Failed("disk_full", "There is no room\non /data.")
    async with running_replica(Notes(catalog_app.slug, trouble=trouble), settings):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
    title = f"deploy {operation.id} of {catalog_app.instance(instance).name}"
    own = [one.getMessage() for one in caplog.records if one.name.startswith("gpuaas_sdk.controller")]
    assert own[0] == "Connected to the platform. Operations to resume: 0"
    assert [line for line in own if operation.id in line] == [
        f"{title} starts, attempt 1",
        f"{title} failed: disk_full: There is no room on /data.",
        f"{title} ended: failed",
    ]
    assert settings.client_secret not in caplog.text


async def test_a_controller_logs_its_start_and_its_end(
    catalog_app: CatalogApp, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gpuaas_sdk.controller")
    settings = catalog_app.controller("log-1")
    running = asyncio.create_task(serve(Notes(catalog_app.slug), settings))
    await until(lambda: "Connected" in caplog.text or running.done())
    assert not running.done()
    os.kill(os.getpid(), signal.SIGTERM)
    await running
    lines = [one.getMessage() for one in caplog.records if one.name == "gpuaas_sdk.controller.process"]
    assert lines == [
        f"Controller of {catalog_app.slug} starts: replica log-1, platform {settings.url.rstrip('/')}",
        f"Controller of {catalog_app.slug} has stopped: replica log-1",
    ]


async def test_the_log_shows_no_name_or_password_of_the_url(
    catalog_app: CatalogApp, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gpuaas_sdk.controller")
    settings = catalog_app.controller()
    scheme, _, rest = settings.url.partition("://")
    with pytest.raises(Unauthenticated):  # the platform accepts no such name
        await serve(Notes(catalog_app.slug), replace(settings, url=f"{scheme}://me:hunter2@{rest}"))
    assert "starts: replica" in caplog.text
    assert "hunter2" not in caplog.text


async def test_a_failure_that_the_handler_names_is_shown_to_people(catalog_app: CatalogApp, begin: Begin) -> None:
    trouble = Failed("disk_full", "There is no room on /data.", next_step="Make room.", retryable=True)
    async with running_replica(Notes(catalog_app.slug, trouble=trouble), catalog_app.controller()):
        _, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
    assert done.status == "failed"
    assert done.failure is not None
    assert (done.failure.code, done.failure.message) == ("disk_full", "There is no room on /data.")
    assert (done.failure.next_step, done.failure.retryable) == ("Make room.", True)
    assert done.steps[-1].status == "failed"


async def test_the_text_of_an_unexpected_error_stays_in_the_log(catalog_app: CatalogApp, begin: Begin) -> None:
    async with running_replica(Notes(catalog_app.slug, trouble=KeyError("hunter2")), catalog_app.controller()):
        _, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
    assert done.failure is not None
    assert done.failure.code == "controller_error"
    assert "hunter2" not in str(done.raw)
    assert "KeyError" in done.failure.message


async def test_a_replica_that_stops_gives_its_operation_back_and_another_starts_it_again(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    settings = catalog_app.controller()
    hold = asyncio.Event()
    first, second = Notes(catalog_app.slug, hold=hold), Notes(catalog_app.slug)
    async with running_replica(first, settings) as replica:
        _, operation = await asyncio.to_thread(begin)
        await asyncio.wait_for(first.began.wait(), 10)
        ending = asyncio.create_task(replica.stop())
        await asyncio.sleep(0.1)
        hold.set()
        await ending
    assert first.done == ["first"]  # it finished its step and did not start the next one
    async with running_replica(second, as_replica(settings, "replica-2")):
        done = await ended(catalog_app, operation)
    assert (done.status, done.attempt, done.replica) == ("succeeded", 2, "replica-2")
    assert second.done == ["first", "once", "second"]


async def test_a_run_once_step_that_was_reported_done_is_not_repeated(catalog_app: CatalogApp, begin: Begin) -> None:
    settings, again = catalog_app.controller(), Notes(catalog_app.slug)
    stopped: list[asyncio.Task[None]] = []

    def hook(step: str) -> None:
        if step == "second":
            stopped.append(asyncio.create_task(first.stop()))
            raise Interrupted

    async with running_replica(Notes(catalog_app.slug), settings, hook) as first:
        _, operation = await asyncio.to_thread(begin)
        await until(lambda: bool(stopped))
    async with running_replica(again, as_replica(settings, "replica-2")):
        assert (await ended(catalog_app, operation)).status == "succeeded"
    assert again.done == ["first", "second"]


async def test_a_replica_that_died_resumes_its_operation_when_it_restarts_under_its_name(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    settings, dying = catalog_app.controller("same-name"), Notes(catalog_app.slug, hold=asyncio.Event())
    async with connect(settings, dying) as client:  # not `running_replica`, which would give the lease back
        dead = Replica(dying, ControllerClient(client, settings.project_id, settings.replica))
        work = asyncio.create_task(dead.run())
        _, operation = await asyncio.to_thread(begin)
        await asyncio.wait_for(dying.began.wait(), 10)
    work.cancel()  # without its connection it can report nothing
    back = Notes(catalog_app.slug)
    async with running_replica(back, settings):
        done = await ended(catalog_app, operation)
    assert (done.status, done.attempt) == ("succeeded", 2)
    await dead.stop(grace=0)


async def test_a_cancelled_operation_ends_between_two_steps(catalog_app: CatalogApp, begin: Begin) -> None:
    hold = asyncio.Event()
    app = Notes(catalog_app.slug, hold=hold)
    async with running_replica(app, catalog_app.controller()):
        _, operation = await asyncio.to_thread(begin)
        await asyncio.wait_for(app.began.wait(), 10)
        await asyncio.to_thread(catalog_app.sandbox.admin.operations.cancel, catalog_app.project_id, operation.id)
        hold.set()
        done = await ended(catalog_app, operation)
    assert (done.status, app.done) == ("cancelled", ["first"])


async def test_a_default_handler_calls_others_and_a_missing_handler_fails(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    app = Notes(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
        app.done.clear()
        restart = await asyncio.to_thread(catalog_app.operate, instance, "restart")
        assert (await ended(catalog_app, restart)).status == "succeeded"
        assert app.done == ["halt", "go"]
        gone = await ended(catalog_app, await asyncio.to_thread(catalog_app.operate, instance, "decommission"))
    assert gone.failure is not None
    assert gone.failure.code == "not_supported"


async def test_a_member_operation_works_on_its_own_member_only(
    catalog_app: CatalogApp, begin: Begin, places: list[str]
) -> None:
    app = Notes(catalog_app.slug)
    async with running_replica(app, catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
        change = NewMemberOperation(kind="add", component_key="leaf", allocation_ids=[places[1]])
        added = await asyncio.to_thread(catalog_app.change_members, instance, change)
        assert (await ended(catalog_app, added)).status == "succeeded"
    assert app.done[-1] == "join ['leaf']"


async def test_health_is_reported_on_the_controllers_schedule(catalog_app: CatalogApp, begin: Begin) -> None:
    async with running_replica(Notes(catalog_app.slug), catalog_app.controller()):
        instance, operation = await asyncio.to_thread(begin)
        await ended(catalog_app, operation)
        await until(lambda: catalog_app.instance(instance).health == "degraded")
    assert "it hums" in {reason.message for reason in catalog_app.instance(instance).health_reasons}


async def test_two_replicas_share_the_work_and_no_operation_runs_twice(
    catalog_app: CatalogApp, places: list[str]
) -> None:
    settings, apps = catalog_app.controller(), [Notes(catalog_app.slug), Notes(catalog_app.slug)]
    second = as_replica(settings, "replica-2")
    async with running_replica(apps[0], settings), running_replica(apps[1], second):
        begun = [
            await asyncio.to_thread(catalog_app.deploy, f"shared-{n}", [("head", place)])
            for n, place in enumerate(places)
        ]
        for _, operation in begun:
            assert (await ended(catalog_app, operation)).attempt == 1
    assert sorted(apps[0].done + apps[1].done) == ["first", "first", "once", "once", "second", "second"]
    for instance, _ in begun:
        await asyncio.to_thread(_decommission, catalog_app, instance)


async def test_the_testing_kit_interrupts_after_every_step_and_runs_the_handler_twice(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    app = Notes(catalog_app.slug)
    async with interrupting_replicas(app, catalog_app.controller()) as interruptions:
        _, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
    assert (done.status, done.attempt) == ("succeeded", 4)
    assert interruptions.seen == ["first", "once", "second"]
    assert app.done.count("second") == 3  # interrupted once, then completed, then repeated
    assert app.done.count("once") == 2  # repeated only after the attempt that ended before its report


@dataclass
class Fetching(AppController):
    """Fetches once for each member, then unpacks, then starts."""

    slug: str = ""
    done: list[str] = field(default_factory=list)
    health_seconds: float = 60.0

    async def bootstrap(self, ctx: Context) -> None:
        for member in ctx.members:
            await ctx.run_once("fetch", self._fetch, member)
        async with ctx.step("unpack"):
            self.done.append("unpack")
        async with ctx.step("start"):
            self.done.append("start")

    async def _fetch(self) -> None:
        self.done.append("fetch")


async def test_interruptions_reach_the_steps_after_one_that_is_not_repeated(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    app = Fetching(catalog_app.slug)
    async with interrupting_replicas(app, catalog_app.controller()) as interruptions:
        _, operation = await asyncio.to_thread(begin)
        done = await ended(catalog_app, operation)
    members = len({step.member_id for step in done.steps if step.name == "fetch"})
    assert interruptions.seen == [*["fetch"] * members, "unpack", "start"]
    assert (done.status, done.attempt) == ("succeeded", members + 3)
    assert app.done.count("fetch") == 2 * members  # each was interrupted before its report and repeated once
    assert {step.status for step in done.steps} == {"succeeded"}


@pytest.mark.slow
async def test_a_handler_that_works_longer_than_a_lease_keeps_its_lease(catalog_app: CatalogApp, begin: Begin) -> None:
    hold = asyncio.Event()
    app = Notes(catalog_app.slug, hold=hold)
    settings = catalog_app.controller()
    async with (
        running_replica(app, settings),
        running_replica(Notes(catalog_app.slug), as_replica(settings, "replica-2")),
    ):
        _, operation = await asyncio.to_thread(begin)
        await asyncio.sleep(70)
        hold.set()
        done = await ended(catalog_app, operation)
    assert (done.status, done.attempt) == ("succeeded", 1)


@pytest.mark.slow
async def test_a_handler_is_stopped_when_its_operation_was_forced_to_end(catalog_app: CatalogApp, begin: Begin) -> None:
    app = Notes(catalog_app.slug, hold=asyncio.Event())
    async with running_replica(app, catalog_app.controller()) as replica:
        _, operation = await asyncio.to_thread(begin)
        await asyncio.wait_for(app.began.wait(), 10)
        operations = catalog_app.sandbox.admin.operations
        await asyncio.to_thread(operations.force, catalog_app.project_id, operation.id, "it takes too long")
        async with asyncio.timeout(40):  # the next renewal is refused
            while replica.metrics.running:
                await asyncio.sleep(0.1)
        assert replica.metrics.ends["deploy", "lost"] == 1


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not await asyncio.to_thread(true):
            await asyncio.sleep(0.05)
