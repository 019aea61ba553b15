"""An artifact that app versions refer to, or that instances run from, is not deleted; when nothing does, it is."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from gpuaas_server.kernel.context import Platform
from tests_support import apps
from tests_support.apps import AppSite


@pytest.fixture
async def app_site(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened


async def artifact_path(app_site: AppSite) -> str:
    (artifact,) = (await app_site.admin.get(f"{app_site.path}/artifacts"))["items"]
    return f"{app_site.path}/artifacts/{artifact['id']}"


async def version_path(app_site: AppSite) -> str:
    (app,) = (await app_site.admin.get(f"{app_site.path}/apps"))["items"]
    (version,) = (await app_site.admin.get(f"{app_site.path}/apps/{app['id']}/versions"))["items"]
    return f"{app_site.path}/apps/{app['id']}/versions/{version['id']}"


async def retire_version(app_site: AppSite) -> None:
    app_site.clock.ahead += timedelta(minutes=2)  # a deprecated version may be retired after a moment
    await app_site.admin.post(f"{await version_path(app_site)}/retire", {"reason": "nobody runs it"})


async def refused(app_site: AppSite) -> tuple[list[str], int]:
    """The versions and the number of instances that a refusal names; nothing has changed by it."""
    path = await artifact_path(app_site)
    answer = await app_site.admin.call("DELETE", path)
    assert (answer.status_code, answer.json()["code"]) == (409, "artifact_in_use"), answer.text
    artifact = await app_site.admin.get(path)
    assert (artifact["deleting"], artifact["stage"]) == (False, "active")
    return answer.json()["details"]["app_versions"], answer.json()["details"]["live_instances"]


async def test_it_is_refused_until_no_instance_runs_and_no_version_refers_to_it(app_site: AppSite) -> None:
    instance_id = await app_site.running(nodes=1)
    assert await refused(app_site) == (["echo 1.2.0"], 1)
    await app_site.admin.post(f"{await version_path(app_site)}/deprecate", {"notice": "there is a newer one"})
    assert await refused(app_site) == (["echo 1.2.0"], 1), "a deprecated version may still be rolled back to"
    operation_id = await app_site.asked(instance_id, "decommission")
    await app_site.controller.carry_out(operation_id)
    await app_site.settle()
    assert await refused(app_site) == (["echo 1.2.0"], 0)
    await retire_version(app_site)
    answer = await app_site.admin.call("DELETE", await artifact_path(app_site))
    assert (answer.status_code, answer.json()["deleting"]) == (202, True), answer.text


async def test_nothing_is_launched_from_an_artifact_that_is_being_deleted(app_site: AppSite) -> None:
    await app_site.admin.post(f"{await version_path(app_site)}/deprecate", {"notice": "there is a newer one"})
    await retire_version(app_site)
    assert (await app_site.admin.call("DELETE", await artifact_path(app_site))).status_code == 202
    assert (await app_site.create(nodes=1)).status_code == 409
