"""What a revoked artifact means for apps: no new launch, running instances say so, and pull secrets follow the lease."""

import base64
from collections.abc import AsyncIterator

import pytest
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from tests_support import apps
from tests_support.apps import AppSite
from tests_support.select import select

RECIPIENT = base64.b64encode(X25519PrivateKey.generate().public_key().public_bytes_raw()).decode()


@pytest.fixture
async def app_site(platform: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(platform) as opened:
        yield opened


async def artifact_path(app_site: AppSite) -> str:
    (artifact,) = (await app_site.admin.get(f"{app_site.path}/artifacts"))["items"]
    return f"{app_site.path}/artifacts/{artifact['id']}"


async def test_a_revoked_digest_stops_new_launches_and_flags_running_instances(app_site: AppSite) -> None:
    instance_id = await app_site.running(nodes=1)
    assert (await app_site.instance(instance_id))["flags"] == []
    await app_site.admin.post(f"{await artifact_path(app_site)}/revoke", {"reason": "a hole in it"})
    await app_site.settle()
    instance = await app_site.instance(instance_id)
    assert ([flag["code"] for flag in instance["flags"]], instance["status"]) == (["artifact_revoked"], "running")
    refused = await app_site.create("second", nodes=1)
    assert refused.status_code == 409
    assert "artifact_revoked" in refused.text


async def test_what_runs_and_what_is_referred_to_is_not_taken_away(app_site: AppSite) -> None:
    await app_site.running(nodes=1)
    path = await artifact_path(app_site)
    body = {"stage": "deprecated", "reason": "there is a newer one"}
    refused = (await app_site.admin.call("POST", f"{path}/move", body)).json()
    assert [one["code"] for one in refused["details"]["refusals"]] == ["artifact_in_use"]
    (app,) = (await app_site.admin.get(f"{app_site.path}/apps"))["items"]
    versions = f"{app_site.path}/apps/{app['id']}/versions"
    (version,) = (await app_site.admin.get(versions))["items"]
    await app_site.admin.post(f"{versions}/{version['id']}/deprecate", {"notice": "there is a newer one"})
    assert (await app_site.admin.post(f"{path}/move", body))["stage"] == "deprecated"
    body["stage"] = "retired"
    refused = (await app_site.admin.call("POST", f"{path}/move", body)).json()
    assert "live instance" in refused["detail"]


async def test_a_pull_secret_is_for_the_holder_of_the_lease_and_ends_with_the_operation(app_site: AppSite) -> None:
    _, operation_id = await app_site.created(nodes=1)
    controller = app_site.controller
    await controller.does(operation_id, "claim")
    path = f"{app_site.path}/operations/{operation_id}/runtime-secrets"
    wrong = {"lease_token": "guessed", "recipient_key": RECIPIENT}
    assert (await controller.person.call("POST", path, wrong)).status_code in (403, 409)
    body = {"lease_token": controller.token, "recipient_key": RECIPIENT}
    answer = await controller.person.call("POST", path, body)
    assert answer.status_code == 201, answer.text
    assert (await app_site.admin.call("POST", path, body)).json()["code"] == "forbidden"  # people never report
    live = "SELECT count(*) AS live FROM runtime_secrets WHERE revoked_at IS NULL"
    assert await _count(app_site, live) == 1
    await controller.does(operation_id, "complete")
    assert await _count(app_site, live) == 0


async def _count(app_site: AppSite, query: str) -> int:
    async with app_site.platform.database.connection(PLATFORM) as connection:
        row = await (await select(connection, query)).fetchone()
    assert row is not None
    return int(row["live"])
