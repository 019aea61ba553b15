"""Replicas of a controller: how they share operations, and how one continues what another began."""

import asyncio
from dataclasses import dataclass, field

import pytest
from sdk_support.notes_app import HANG, Begin, Notes, decommission, ended, until

from gpuaas_sdk.controller import AppController, Context, ControllerClient, Replica, connect
from gpuaas_sdk.controller.failures import Interrupted
from gpuaas_sdk.testing import CatalogApp, as_replica, interrupting_replicas, running_replica


async def test_a_replica_that_stops_gives_its_operation_back_and_another_starts_it_again(
    catalog_app: CatalogApp, begin: Begin
) -> None:
    settings = catalog_app.controller()
    hold = asyncio.Event()
    first, second = Notes(catalog_app.slug, hold=hold), Notes(catalog_app.slug)
    async with running_replica(first, settings) as replica:
        _, operation = await asyncio.to_thread(begin)
        await asyncio.wait_for(first.began.wait(), HANG)
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
        await asyncio.wait_for(dying.began.wait(), HANG)
    work.cancel()  # without its connection it can report nothing
    back = Notes(catalog_app.slug)
    async with running_replica(back, settings):
        done = await ended(catalog_app, operation)
    assert (done.status, done.attempt) == ("succeeded", 2)
    await dead.stop(grace=0)


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
        await asyncio.to_thread(decommission, catalog_app, instance)


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

    async def deploy(self, ctx: Context) -> None:
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
        await asyncio.wait_for(app.began.wait(), HANG)
        operations = catalog_app.sandbox.admin.operations
        await asyncio.to_thread(operations.force, catalog_app.project_id, operation.id, "it takes too long")
        async with asyncio.timeout(40):  # the next renewal is refused
            while replica.metrics.running:
                await asyncio.sleep(0.1)
        assert replica.metrics.ends["deploy", "lost"] == 1
