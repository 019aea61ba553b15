"""Images in registries that are not the platform's own: registered by digest, with a credential that nobody sees again."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from gpuaas_sdk.testing import free_port
from gpuaas_server.artifacts import service as artifacts
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.runtime import running_platform
from tests_support.agents import MovableClock
from tests_support.artifacts import Json, workshop
from tests_support.external_images import CREDENTIAL, REPOSITORY, Outside
from tests_support.external_registries import PASSWORD, USER, PasswordRegistry, password_registry, small_image
from tests_support.pull_secrets import issue, opened
from tests_support.select import select


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PasswordRegistry]:
    with password_registry(f"127.0.0.1:{free_port()}", tmp_path_factory.mktemp("external")) as running:
        yield running


@pytest.fixture
async def outside(settings: Settings, registry: PasswordRegistry) -> AsyncIterator[Outside]:
    listed = settings.model_copy(update={"external_registries": f"http://{registry.address}"})
    async with running_platform(listed) as platform, workshop(platform) as shop:
        yield Outside(shop, registry)


async def test_an_image_is_registered_where_it_is_and_its_bytes_count_nothing(outside: Outside) -> None:
    image = small_image()
    intent = await outside.register(reference := await outside.push(image))
    assert (intent["state"], intent["reference"], intent["push"]) == ("registered", reference, None)
    await outside.shop.work()
    artifact = await outside.shop.artifact(intent["artifact_id"])
    assert (artifact["reference"], artifact["digest"]) == (reference, image.digest)
    assert (artifact["registry"], artifact["has_credential"]) == (outside.registry.address, True)
    assert artifact["size_bytes"] == len(image.manifest) + sum(map(len, image.blobs))
    assert (artifact["trust"], artifact["trust_detail"], artifact["checking"]) == ("unverified", "not signed", False)
    quota = await outside.shop.admin.get(f"{outside.shop.path}/quota")
    assert (quota["artifacts_used"], quota["artifact_bytes_used"]) == (1, 0)


async def test_the_credential_is_in_no_answer_audit_row_event_or_plain_column(outside: Outside) -> None:
    artifact = await outside.artifact()
    listed = await outside.shop.admin.get(f"{outside.shop.path}/publish-intents")
    assert PASSWORD not in str([artifact, listed])
    async with outside.shop.platform.database.connection(PLATFORM) as connection:
        cursor = await select(
            connection, "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
        )
        tables = [row["table_name"] for row in await cursor.fetchall()]
        for table in tables:
            cursor = await select(
                connection,
                f'SELECT count(*) AS n FROM "{table}" t WHERE t::text LIKE %s',
                (f"%{PASSWORD}%",),
            )
            assert (await cursor.fetchall())[0]["n"] == 0, table
    assert await outside.count("purpose = 'artifact_pull' AND destroyed_at IS NULL") == 1


async def test_a_wrong_or_missing_credential_is_denied_and_not_kept(outside: Outside) -> None:
    reference = await outside.push(small_image())
    for credential in ({"username": USER, "password": "wrong"}, None):
        intent = await outside.register(reference, credential)
        assert (intent["state"], intent["failure"]["code"]) == ("failed", "registry_denied")
    assert await outside.count("wrapped_key IS NOT NULL AND purpose = 'artifact_pull'") == 0
    quota = await outside.shop.admin.get(f"{outside.shop.path}/quota")
    assert quota["artifacts_used"] == 0


async def test_what_is_not_there_and_what_is_too_large_are_told_apart(outside: Outside) -> None:
    reference = await outside.push(small_image())
    absent = reference.partition("@")[0] + "@sha256:" + "0" * 64
    assert (await outside.register(absent))["failure"]["code"] == "image_not_found"
    platform = outside.shop.platform
    platform.settings = platform.settings.model_copy(update={"external_image_max_bytes": 10_000})
    assert (await outside.register(reference))["failure"]["code"] == "image_too_large"


async def test_a_registry_that_is_away_is_waited_for_and_then_given_up(outside: Outside, tmp_path: Path) -> None:
    port = free_port()
    platform = outside.shop.platform
    platform.settings = platform.settings.model_copy(update={"external_registries": f"http://127.0.0.1:{port}"})
    image = small_image()
    waiting = await outside.register(f"127.0.0.1:{port}/{REPOSITORY}@{image.digest}")
    assert (waiting["state"], waiting["failure"]["code"]) == ("verifying", "registry_unavailable")
    with password_registry(f"127.0.0.1:{port}", tmp_path / "late") as late:
        await asyncio.to_thread(late.push, REPOSITORY, image.blobs, image.manifest)
        platform.clock = clock = MovableClock()
        clock.ahead = timedelta(seconds=10)
        await outside.shop.work()
        assert (await outside.shop.intent(waiting))["state"] == "registered"
    again = await outside.register(f"127.0.0.1:{port}/{REPOSITORY}@sha256:{'1' * 64}")
    clock.ahead = timedelta(minutes=11)
    await outside.shop.work()
    ended = await outside.shop.intent(again)
    assert (ended["state"], ended["failure"]["code"]) == ("failed", "registry_unavailable")


async def test_a_registry_that_is_not_on_the_list_is_not_even_asked(outside: Outside) -> None:
    digest = "sha256:" + "0" * 64
    for host in (
        "registry.example.com",
        "127.0.0.1",
        "169.254.169.254",
        outside.registry.address.replace("127.0.0.1", "localhost"),
    ):
        body = {"name": "x", "reference": f"{host}/a/b@{digest}", "credential": CREDENTIAL}
        refused = await outside.shop.admin.call("POST", f"{outside.shop.path}/external-images", body)
        assert (refused.status_code, refused.json()["code"]) == (409, "registry_not_allowed"), host
    assert await outside.count("true") == 0
    assert (await outside.shop.admin.get(f"{outside.shop.path}/publish-intents"))["items"] == []


@pytest.mark.parametrize(
    "changed",
    [
        {"reference": "no-digest.example.com/a/b:latest"},
        {"reference": "host.example.com@sha256:" + "0" * 64},
        {"reference": "user:secret@host.example.com/a@sha256:" + "0" * 64},
        {"reference": "host.example.com/../a@sha256:" + "0" * 64},
        {"reference": "host.example.com/a?x=1@sha256:" + "0" * 64},
        {"reference": "https://host.example.com/a@sha256:" + "0" * 64},
        {"credential": CREDENTIAL},
        {"reference": "host.example.com/a@sha256:" + "0" * 64, "credential": {"username": "a:b", "password": "x"}},
        {"reference": "host.example.com/a@sha256:" + "0" * 64, "credential": {"username": "a", "password": "x\ny"}},
    ],
)
async def test_what_is_no_reference_by_digest_is_refused(outside: Outside, changed: Json) -> None:
    refused = await outside.shop.admin.call("POST", f"{outside.shop.path}/external-images", {"name": "x", **changed})
    assert (refused.status_code, refused.json()["code"]) == (422, "invalid_request")
    assert PASSWORD not in refused.text


async def test_registering_it_again_replaces_the_credential_once_it_was_accepted(outside: Outside) -> None:
    artifact = await outside.artifact()
    wrong = await outside.register(artifact["reference"], {"username": USER, "password": "wrong"})
    assert wrong["failure"]["code"] == "registry_denied"
    assert await outside.count("wrapped_key IS NOT NULL") == 1
    again = await outside.register(artifact["reference"])
    assert (again["state"], again["artifact_id"]) == ("registered", artifact["id"])
    assert await outside.count("wrapped_key IS NOT NULL") == 1
    assert await outside.count("wrapped_key IS NULL") == 2
    quota = await outside.shop.admin.get(f"{outside.shop.path}/quota")
    assert quota["artifacts_used"] == 1
    await outside.shop.work()
    assert (await outside.shop.artifact(artifact["id"]))["trust"] == "unverified"


async def test_the_same_bytes_at_another_place_are_another_matter(outside: Outside) -> None:
    image = small_image()
    await outside.register(await outside.push(image))
    elsewhere = await asyncio.to_thread(outside.registry.push, "other/place", image.blobs, image.manifest)
    assert (await outside.register(elsewhere))["failure"]["code"] == "already_exists"


async def test_deleting_it_destroys_the_credential_and_leaves_the_registry_alone(outside: Outside) -> None:
    artifact = await outside.artifact()
    deleted = await outside.shop.admin.call("DELETE", f"{outside.shop.path}/artifacts/{artifact['id']}")
    assert deleted.status_code == 202
    await outside.shop.work()
    assert await outside.count("wrapped_key IS NOT NULL") == 0
    assert await asyncio.to_thread(outside.registry.has, REPOSITORY, artifact["digest"])
    quota = await outside.shop.admin.get(f"{outside.shop.path}/quota")
    assert (quota["artifacts_used"], quota["artifact_bytes_used"]) == (0, 0)


async def test_a_check_that_cannot_be_made_takes_no_trust_away(outside: Outside) -> None:
    artifact = await outside.artifact()
    await outside.shop.work()
    platform = outside.shop.platform
    platform.settings = platform.settings.model_copy(update={"external_registries": ""})
    await outside.shop.admin.post(f"{outside.shop.path}/artifacts/{artifact['id']}/verify", {})
    await outside.shop.work()
    found = await outside.shop.artifact(artifact["id"])
    assert (found["trust"], found["checking"]) == ("unverified", False)
    assert found["trust_detail"] == "the last check could not be made: registry_not_allowed"


async def test_another_tenant_may_not_launch_what_needs_the_publishers_credential(outside: Outside) -> None:
    artifact = await outside.artifact()
    await outside.shop.promote(artifact, "staged", "canary")
    await outside.shop.move(artifact, "active")
    async with outside.shop.platform.database.connection(PLATFORM) as connection:
        place = (new_id("prj"), artifact["digest"], outside.shop.project_id)
        own = await artifacts.launch_refusals(connection, outside.shop.tenant_id, *place)
        other = await artifacts.launch_refusals(connection, new_id("tnt"), *place)
    assert ([one.code for one in own], [one.code for one in other]) == ([], ["pull_credential_private"])


async def test_hosts_of_its_own_tenant_get_the_credential_sealed_and_others_get_nothing(outside: Outside) -> None:
    artifact = await outside.artifact()
    secret = await issue(outside.shop, artifact)
    told = opened(secret)
    assert PASSWORD not in secret.model_dump_json()
    assert (told["username"], told["password"]) == (USER, PASSWORD)
    assert (told["registry"], told["reference"]) == (outside.registry.address, artifact["reference"])
    assert (told["tls"], told["trust"]) == (False, [])
    with pytest.raises(Problem) as refused:
        await issue(outside.shop, artifact, tenant=new_id("tnt"))
    assert refused.value.code == "pull_credential_private"
    platform = outside.shop.platform
    platform.settings = platform.settings.model_copy(update={"external_registries": ""})
    with pytest.raises(Problem) as refused:
        await issue(outside.shop, artifact)
    assert refused.value.code == "registry_not_allowed"
