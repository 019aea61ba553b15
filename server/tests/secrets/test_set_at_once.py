"""Values of an instance's secret that are set at once: one of them is kept, and nobody takes it away."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.secrets import service
from gpuaas_server.secrets.service import PreparedSecret, SecretOwner, SecretRef
from tests_support import apps
from tests_support.apps import AppSite
from tests_support.openbao import RunningOpenBao
from tests_support.projects import Recipient
from tests_support.select import select

TOKEN = {"key": "hub-token", "source": "given"}


@pytest.fixture
async def world(keeper: Platform) -> AsyncIterator[AppSite]:
    async with apps.opened(keeper) as opened:
        yield opened


async def launched(world: AppSite) -> str:
    await world.publish(version="1.5.0", secrets=[TOKEN])
    instance_id, deploy = await world.created(version="1.5.0", secrets={"hub-token": {"value": "first"}})
    await world.controller.carry_out(deploy)
    return instance_id


async def value_read(world: AppSite, operation_id: str) -> tuple[int, bytes]:
    recipient = Recipient.new()
    await world.controller.does(operation_id, "claim")
    (read,) = (await world.controller.does(operation_id, "secrets", recipient_key=recipient.key))["items"]
    await world.controller.does(operation_id, "complete")
    return read["version"], recipient.open(read["sealed"])


async def test_of_two_values_that_are_set_at_once_the_one_that_was_accepted_holds(
    world: AppSite, backend: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"{world.path}/instances/{await launched(world)}/secrets/hub-token"
    together, prepare = asyncio.Barrier(2), service.secret_prepare

    async def prepare_together(
        platform: Platform, owner: SecretOwner, clear: bytes, ref: SecretRef | None = None
    ) -> PreparedSecret:
        prepared = await prepare(platform, owner, clear, ref)
        async with asyncio.timeout(60):
            await together.wait()  # both are in the store before one of them is committed
        return prepared

    monkeypatch.setattr(service, "secret_prepare", prepare_together)
    values = ("second", "third")
    answers = await asyncio.gather(*(world.admin.call("PUT", path, {"value": value}) for value in values))
    assert sorted(answer.status_code for answer in answers) == [200, 409]
    (accepted,) = (value for value, answer in zip(values, answers, strict=True) if answer.status_code == 200)
    (rotation,) = (answer.json()["operation"]["id"] for answer in answers if answer.status_code == 200)
    if backend == "openbao":
        store: RunningOpenBao = request.getfixturevalue("bao")
        assert len(names_of(store, await secret_id(world))) == 2  # the loser's own is gone
    assert await value_read(world, rotation) == (2, accepted.encode())
    await world.settle()
    if backend == "openbao":
        assert len(names_of(store, await secret_id(world))) == 1  # what was replaced is erased


async def test_who_asks_through_another_project_changes_nothing(
    world: AppSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    instance_id = await launched(world)
    body = {"slug": "other", "name": "Other"}
    other = (await world.admin.post(f"/tenants/{world.tenant_id}/projects", body))["id"]
    prepared: list[object] = []
    prepare = service.secret_prepare

    async def noted(
        platform: Platform, owner: SecretOwner, clear: bytes, ref: SecretRef | None = None
    ) -> PreparedSecret:
        prepared.append(ref)
        return await prepare(platform, owner, clear, ref)

    monkeypatch.setattr(service, "secret_prepare", noted)
    path = f"/instances/{instance_id}/secrets/hub-token"
    refused = await world.admin.call("PUT", f"/projects/{other}{path}", {"value": "theirs"})
    assert (refused.status_code, prepared) == (404, [])
    restart = await world.asked(instance_id, "restart")
    assert await value_read(world, restart) == (1, b"first")


async def secret_id(world: AppSite) -> str:
    async with world.platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT secret_id FROM instance_secrets")
        return str((await cursor.fetchone() or {})["secret_id"])


def names_of(store: RunningOpenBao, of: str) -> list[str]:
    return [name for name in store.kept() if name.startswith(f"{of}/")]
