"""A publisher with an app, its controller, and a second tenant that may launch the app."""

from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import apps
from tests_support.apps import AppSite
from tests_support.served import Served


@pytest.fixture
async def world(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform, allocations=2) as opened:
        yield opened


@pytest.fixture
async def served(world: AppSite) -> Served:
    admin = world.admin
    (app,) = (await admin.get("/apps"))["items"]
    visible = {"visibility": "public", "reason": "for everybody"}
    assert (await admin.call("PUT", f"/apps/{app['id']}/visibility", visible)).status_code == 200
    bound = {"app": "echo", "service_account_id": world.controller.account_id}
    binding = await admin.post(f"{world.path}/controller-bindings", bound)
    tenant, stranger = await world.another_tenant("globex"), await world.another_tenant("initech")
    return Served(world, tenant, stranger, binding["id"])
