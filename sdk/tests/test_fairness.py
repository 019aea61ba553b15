"""One controller for many tenants, against a real server: a tenant that blocks it does not keep another waiting."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import pytest

from gpuaas_sdk.controller import AppController, Context, ControllerSettings
from gpuaas_sdk.controller.slots import Slots
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox, running_replica

MANIFEST = """\
manifest: 1
slug: {slug}
display_name: Shared
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {}
components:
  - {key: node, min: 1, max: 1}
footprint: {units: [shared.service]}
"""
NODES, MANY, SLOTS = 4, 24, 8  # a simulated node has 8 GPUs


@dataclass
class Blocking(AppController):
    """Its deploys do not end until `release` is set. `began` has the projects of those that were claimed."""

    slug: str = ""
    began: list[str] = field(default_factory=list)
    release: asyncio.Event = field(default_factory=asyncio.Event)

    async def deploy(self, ctx: Context) -> None:
        self.began.append(ctx.lease.project_id)
        await self.release.wait()


@pytest.fixture(scope="module")
def publisher(server: RunningServer) -> Iterator[CatalogApp]:
    sandbox = Sandbox.create(server)
    sandbox.offer()
    app = CatalogApp(sandbox, f"shared-{sandbox.project_id[-6:].lower()}")
    version = app.publish(MANIFEST.replace("{slug}", app.slug), b"a controller that many tenants share")
    sandbox.admin.apps.set_visibility(version.app_id, "public", "for everybody")
    with sandbox.simulated_fleet(NODES, first_index=700):
        yield app


def bound_controller(publisher: CatalogApp) -> ControllerSettings:
    settings = replace(publisher.controller(), concurrency=SLOTS)
    publisher.sandbox.admin.controller_bindings.create(publisher.project_id, publisher.slug, settings.client_id)
    return settings


def consenting_tenant(publisher: CatalogApp) -> CatalogApp:
    tenant = Sandbox.create(publisher.sandbox.server)
    tenant.admin.controller_consents.give(tenant.tenant_id, publisher.slug)
    return CatalogApp(tenant, publisher.slug)


def launch(app: CatalogApp, places: Sequence[str]) -> None:
    for number, place in enumerate(places):
        app.deploy(f"n{number}", [("node", place)])


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.02)


async def test_a_tenant_that_takes_every_slot_does_not_keep_another_waiting(publisher: CatalogApp) -> None:
    settings = bound_controller(publisher)
    greedy, modest = consenting_tenant(publisher), consenting_tenant(publisher)
    greedy_places = await asyncio.to_thread(greedy.allocate, MANY)
    modest_places = await asyncio.to_thread(modest.allocate, 2)
    await asyncio.to_thread(launch, greedy, greedy_places)
    app = Blocking(publisher.slug)
    async with running_replica(app, settings):
        await until(lambda: len(app.began) >= SLOTS)
        await asyncio.to_thread(launch, modest, modest_places)
        await until(lambda: modest.project_id in app.began)  # though nothing of the other tenant has ended
        assert Counter(app.began) == {greedy.project_id: SLOTS, modest.project_id: 1}  # and no slot was idle
        app.release.set()
        await until(lambda: len(app.began) == MANY + 2)
        # The second one of the modest tenant got one of the slots that were free first, not the last of all.
        second = [number for number, project in enumerate(app.began) if project == modest.project_id][1]
        assert second < 2 * (SLOTS + Slots(SLOTS).reserve)
