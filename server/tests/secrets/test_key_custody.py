"""The platform's own private keys are under the secret store's key, move there by themselves, and are opened once."""

import asyncio
from contextlib import suppress
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from gpuaas_server.identity import signing_keys
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.pki import keys as platform_keys
from gpuaas_server.processes.worker import KEY_SOURCES, build_worker, ensure_recurring_work
from gpuaas_server.runtime import running_platform
from gpuaas_server.secrets import keys, private_keys
from gpuaas_server.secrets.jobs import KeyCustodyJob
from gpuaas_server.work import leases
from tests_support.openbao import RunningOpenBao
from tests_support.select import select

ACTOR = system_actor("test", "correlation-of-a-test")


async def open_all(platform: Platform) -> dict[str, bytes]:
    """Every private key that signs, by its id; all of them are there afterwards."""
    await platform_keys.ensure_keys(platform)
    await signing_keys.ensure_signing_key(platform)
    async with platform.database.connection(PLATFORM) as connection:
        kid, token_key = await signing_keys.signing_key(platform, connection)
    found = {kid: token_key.private_bytes_raw()}
    for kind in platform_keys.KINDS:
        for key in await platform_keys.live_keys(platform, kind):
            found[key.kid] = private_bytes(key.private)
    return found


def private_bytes(key: platform_keys.PrivateKey) -> bytes:
    form, encoding = serialization.PrivateFormat.PKCS8, serialization.Encoding.DER
    return key.private_bytes(encoding, form, serialization.NoEncryption())


async def custody(platform: Platform) -> dict[str, private_keys.Custody]:
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(connection, "SELECT id FROM platform_keys UNION SELECT id FROM signing_keys")
        ids = [row["id"] for row in await cursor.fetchall()]
        return await private_keys.custody_of(connection, ids)


async def work(platform: Platform, kind: str) -> int:
    async with platform.database.connection(PLATFORM) as connection:
        taken = await leases.take(connection, [kind], "test", platform.clock(), 60, 10)
    hands = build_worker(platform)
    for lease in taken:
        await hands._advance(lease)
    return len(taken)


async def put_back_under_the_master_key(platform: Platform) -> None:
    """As an older release left them."""
    for kind in platform_keys.KINDS:
        for key in await platform_keys.live_keys(platform, kind):
            sealed = platform.sealer.seal(private_bytes(key.private), f"platform-key:{kind}:{key.kid}")
            await run_sql(platform, "UPDATE platform_keys SET sealed_private_key = %s WHERE id = %s", sealed, key.kid)
    async with platform.database.connection(PLATFORM) as connection:
        kid, private = await signing_keys.signing_key(platform, connection)
    sealed = platform.sealer.seal(private.private_bytes_raw(), f"token-signing-key:{kid}")
    await run_sql(platform, "UPDATE signing_keys SET sealed_private_key = %s WHERE id = %s", sealed, kid)
    await run_sql(platform, "DELETE FROM platform_private_keys")


def known_token(bao: RunningOpenBao) -> str:
    return Path(str(bao.settings["openbao_token_file"])).read_text()


async def run_sql(platform: Platform, statement: str, *values: object) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute(statement, values)


async def test_every_key_is_under_the_secret_stores_key_and_says_so(keeper: Platform, backend: str) -> None:
    found = await open_all(keeper)
    protected = await custody(keeper)
    assert set(protected) == set(found)
    assert {one.backend for one in protected.values()} == {backend}


async def test_a_rotation_of_the_secret_stores_key_wraps_the_platforms_keys_anew(keeper: Platform) -> None:
    before = await open_all(keeper)
    version = await keys.external_rotation(keeper)
    async with keeper.transaction(PLATFORM, ACTOR) as tx:
        made = await keys.secret_key_rotate(tx, keeper, version, "a test")
    assert await work(keeper, keys.REWRAP) == 1
    assert {one.secret_key_id for one in (await custody(keeper)).values()} == {made.id}
    async with keeper.database.connection(PLATFORM) as connection:
        page = await keys.secret_key_list(connection, PageRequest(None, 10))
    assert [(key.protects, key.retired_at is None) for key in page.items] == [(len(before), True), (0, False)]
    async with running_platform(keeper.settings) as fresh:
        assert await open_all(fresh) == before


async def test_keys_of_an_older_release_are_moved_and_stay_the_same_keys(keeper: Platform, backend: str) -> None:
    before = await open_all(keeper)
    await put_back_under_the_master_key(keeper)
    assert await custody(keeper) == {}
    async with running_platform(keeper.settings) as upgraded:
        assert await open_all(upgraded) == before
        await ensure_recurring_work(upgraded)
        assert await work(upgraded, KeyCustodyJob.kind) == 2
    assert {one.backend for one in (await custody(keeper)).values()} == {backend}
    async with keeper.database.connection(PLATFORM) as connection:
        for source in KEY_SOURCES.values():
            assert await source.list_sealed(connection) == []
    async with running_platform(keeper.settings) as fresh:
        assert await open_all(fresh) == before


async def test_a_move_that_is_killed_before_it_is_stored_is_repeated(keeper: Platform) -> None:
    before = await open_all(keeper)
    await put_back_under_the_master_key(keeper)
    job = KeyCustodyJob(keeper, KEY_SOURCES)
    async with keeper.database.connection(PLATFORM) as connection:
        snapshot = await job.load(connection, "platform_keys")
    assert snapshot is not None
    prepared = await job.act(keeper, snapshot)
    with suppress(ZeroDivisionError):
        async with keeper.transaction(PLATFORM, ACTOR) as tx:
            await job.apply(tx, snapshot, prepared)
            raise ZeroDivisionError  # before the commit
    async with running_platform(keeper.settings) as fresh:
        assert await open_all(fresh) == before
    for _ in range(2):  # two workers with the same snapshot: the second finds nothing to do
        async with keeper.transaction(PLATFORM, ACTOR) as tx:
            await job.apply(tx, snapshot, prepared)
    async with running_platform(keeper.settings) as fresh:
        assert await open_all(fresh) == before


async def test_a_retired_key_is_destroyed(keeper: Platform) -> None:
    await open_all(keeper)
    new = await signing_keys.signing_key_prepare(keeper)
    async with keeper.database.connection(PLATFORM) as connection:
        old, _ = await signing_keys.signing_key(keeper, connection)
    async with keeper.transaction(PLATFORM, ACTOR) as tx:
        made = await signing_keys.signing_key_rotate(tx, new, 15)
    assert made.secret_key_id is not None
    assert old not in await custody(keeper)
    async with keeper.database.connection(PLATFORM) as connection:
        assert (await signing_keys.signing_key(keeper, connection))[0] == new.id
        listed = (await signing_keys.signing_key_list(connection, PageRequest(None, 10))).items
    assert [(key.id, key.custody) for key in listed] == [(new.id, made.custody), (old, "destroyed")]


class TestOpenBao:
    """What differs when the key that wraps them is somewhere else."""

    @pytest.fixture
    def backend(self) -> str:
        return "openbao"

    async def test_signing_does_not_ask_the_store_and_a_new_process_waits_for_it(
        self, keeper: Platform, bao: RunningOpenBao, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        before = await open_all(keeper)
        token_file = tmp_path / "token"
        token_file.write_text("not a token that OpenBao knows")
        away = keeper.settings.model_copy(update={"openbao_token_file": token_file})
        keeper.settings = away
        assert await open_all(keeper) == before  # from memory
        async with running_platform(away) as fresh:
            with pytest.raises(Problem) as refused:
                await platform_keys.live_keys(fresh, "ssh_user_ca")
            assert refused.value.code == "secret_store_unavailable"
            opening = asyncio.create_task(private_keys.await_store(lambda: platform_keys.ensure_keys(fresh)))
            while "waiting for the secret store" not in caplog.text:
                await asyncio.sleep(0.05)
            assert not opening.done()
            token_file.write_text(known_token(bao))
            await opening
            assert await open_all(fresh) == before
        assert caplog.text.count("waiting for the secret store") == 1
        assert caplog.text.count("did not do what was asked") == 1

    async def test_keys_come_under_the_external_key_after_the_backend_was_changed(self, keeper: Platform) -> None:
        settings = keeper.settings.model_copy(update={"custody_backend": "builtin"})
        async with running_platform(settings) as old:
            before = await open_all(old)
        await ensure_recurring_work(keeper)
        while await work(keeper, keys.REWRAP):
            pass
        assert {one.backend for one in (await custody(keeper)).values()} == {"openbao"}
        async with running_platform(keeper.settings) as fresh:
            assert await open_all(fresh) == before
