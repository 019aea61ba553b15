"""A secret is sealed under a key of its own, opens as what it is and as nothing else, and is gone when it is destroyed."""

import asyncio
import os

import pytest

from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM, Scope
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.kernel.pages import PageRequest
from gpuaas_server.runtime import running_platform
from gpuaas_server.secrets import jobs, keys, queries, service
from gpuaas_server.secrets.envelope import SecretRef
from gpuaas_server.secrets.service import PreparedSecret, SecretOwner
from gpuaas_server.work import leases
from gpuaas_server.work.worker import Worker
from tests_support.openbao import RunningOpenBao
from tests_support.select import select

ACTOR = system_actor("test", "correlation-of-a-test")
OWNER = SecretOwner(new_id("tnt"), new_id("prj"), "test")
SCOPE = Scope(OWNER.tenant_id)
CLEAR = b"a value that must be nowhere in clear"


async def store(platform: Platform, prepared: PreparedSecret) -> SecretRef:
    async with platform.transaction(SCOPE, ACTOR) as tx:
        await service.secret_store(tx, prepared)
    return prepared.ref


async def keep(platform: Platform, clear: bytes = CLEAR, ref: SecretRef | None = None) -> SecretRef:
    return await store(platform, await service.secret_prepare(platform, OWNER, clear, ref))


async def opened(platform: Platform, ref: SecretRef) -> bytes:
    return await service.secret_open(platform, SCOPE, ref)


async def code_of(platform: Platform, ref: SecretRef, scope: Scope = SCOPE) -> str:
    with pytest.raises(Problem) as refused:
        await service.secret_open(platform, scope, ref)
    return refused.value.code


async def run_sql(platform: Platform, statement: str, *values: object) -> None:
    async with platform.database.connection(PLATFORM) as connection:
        await connection.execute(statement, values)


async def rotate(platform: Platform) -> str:
    version = await keys.external_rotation(platform)
    async with platform.transaction(PLATFORM, ACTOR) as tx:
        return (await keys.secret_key_rotate(tx, platform, version, "a test")).id


async def work(platform: Platform, kind: str) -> int:
    """Do what is due of this kind, once; how many there were."""
    async with platform.database.connection(PLATFORM) as connection:
        taken = await leases.take(connection, [kind], "test", platform.clock(), 60, 10)
    hands = Worker(platform, [jobs.SecretRewrapJob(platform), jobs.SecretEraseJob()])
    for lease in taken:
        await hands._advance(lease)
    return len(taken)


async def key_states(platform: Platform) -> list[tuple[bool, int]]:
    """(destroyed, how many values under it), newest first."""
    async with platform.database.connection(PLATFORM) as connection:
        return [
            (row.retired_at is not None, row.protects)
            for row in await queries.key_list(connection, PageRequest(None, 9))
        ]


async def test_what_is_kept_comes_back_version_by_version(keeper: Platform) -> None:
    first = await keep(keeper)
    second = await keep(keeper, b"another", SecretRef(first.secret_id, 2))
    assert (await opened(keeper, first), await opened(keeper, second)) == (CLEAR, b"another")


async def test_nothing_is_in_clear_in_the_database_or_in_the_external_store(
    keeper: Platform, backend: str, request: pytest.FixtureRequest
) -> None:
    ref = await keep(keeper)
    async with keeper.database.connection(PLATFORM) as connection:
        row = await queries.secret_find(connection, ref.secret_id, ref.version)
    assert row is not None
    assert row.wrapped_key is not None
    assert CLEAR not in row.wrapped_key + (row.sealed_value or b"")
    if backend == "openbao":
        bao: RunningOpenBao = request.getfixturevalue("bao")
        assert row.sealed_value is None
        there = bao.ask("GET", f"secret/data/gpuaas/{ref.secret_id}/{ref.version}").content
        assert b"sealed" in there
        assert CLEAR not in there


async def test_another_tenant_does_not_find_it(keeper: Platform) -> None:
    assert await code_of(keeper, await keep(keeper), Scope(new_id("tnt"))) == "secret_unreadable"


async def test_a_value_does_not_open_as_another_version_or_another_secret(keeper: Platform) -> None:
    mine, other = await keep(keeper), await keep(keeper, b"another")
    await run_sql(
        keeper,
        "UPDATE secrets t SET wrapped_key = f.wrapped_key, sealed_value = f.sealed_value FROM secrets f"
        " WHERE t.id = %s AND f.id = %s",
        other.secret_id,
        mine.secret_id,
    )
    assert await code_of(keeper, other) == "secret_unreadable"
    assert await opened(keeper, mine) == CLEAR


async def test_a_tampered_data_key_is_refused(keeper: Platform) -> None:
    ref = await keep(keeper)
    await run_sql(keeper, "UPDATE secrets SET wrapped_key = overlay(wrapped_key PLACING 'AAAA'::bytea FROM 20)")
    assert await code_of(keeper, ref) == "secret_unreadable"


async def test_a_destroyed_version_cannot_be_opened_and_its_successor_can(keeper: Platform) -> None:
    first = await keep(keeper)
    second = await keep(keeper, b"another", SecretRef(first.secret_id, 2))
    async with keeper.transaction(SCOPE, ACTOR) as tx:
        await service.secret_destroy(tx, first.secret_id, 1)
    assert await code_of(keeper, first) == "secret_unreadable"
    assert await opened(keeper, second) == b"another"


async def test_a_rotation_puts_everything_under_the_new_key_and_destroys_the_old_one(keeper: Platform) -> None:
    kept = [await keep(keeper, f"value {n}".encode()) for n in range(3)]
    await rotate(keeper)
    assert await key_states(keeper) == [(False, 0), (False, 3)]
    assert await work(keeper, keys.REWRAP) == 1
    assert await key_states(keeper) == [(False, 3), (True, 0)]
    assert [await opened(keeper, ref) for ref in kept] == [b"value 0", b"value 1", b"value 2"]
    async with keeper.database.connection(PLATFORM) as connection:
        row = await (await select(connection, "SELECT count(sealed_key) AS n FROM secret_keys")).fetchone()
    assert row is not None
    assert row["n"] == (1 if keeper.settings.custody_backend == "builtin" else 0)


async def test_a_rotation_goes_on_in_portions(keeper: Platform, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PORTION", 2)
    kept = [await keep(keeper, os.urandom(8)) for _ in range(5)]
    await rotate(keeper)
    for left in (3, 1, 0):
        assert await work(keeper, keys.REWRAP) == 1
        assert sum(under for _, under in (await key_states(keeper))[1:]) == left
    assert await work(keeper, keys.REWRAP) == 0
    assert len([await opened(keeper, ref) for ref in kept]) == 5


async def test_a_secret_prepared_under_a_key_that_is_destroyed_meanwhile_is_not_stored(keeper: Platform) -> None:
    prepared = await service.secret_prepare(keeper, OWNER, CLEAR)
    await rotate(keeper)
    await work(keeper, keys.REWRAP)
    with pytest.raises(Problem) as refused:
        await store(keeper, prepared)
    assert refused.value.code == "secret_store_unavailable"
    assert refused.value.kind.retryable


async def test_a_key_under_which_a_secret_is_being_stored_is_not_destroyed(keeper: Platform) -> None:
    prepared = await service.secret_prepare(keeper, OWNER, CLEAR)
    await rotate(keeper)
    async with keeper.transaction(SCOPE, ACTOR) as tx:
        await service.secret_store(tx, prepared)
        rewrapping = asyncio.create_task(work(keeper, keys.REWRAP))
        await asyncio.sleep(0.3)  # it waits for us
        assert not rewrapping.done()
    await rewrapping
    assert await opened(keeper, prepared.ref) == CLEAR


async def test_two_first_users_make_one_key(keeper: Platform) -> None:
    await asyncio.gather(*(keep(keeper) for _ in range(4)))
    assert await key_states(keeper) == [(False, 4)]


class TestOpenBao:
    """What only the external store can do, or fail to do."""

    @pytest.fixture
    def backend(self) -> str:
        return "openbao"

    async def test_a_destroyed_value_is_erased_there_too(self, keeper: Platform, bao: RunningOpenBao) -> None:
        ref = await keep(keeper)
        assert f"{ref.secret_id}/1" in bao.kept()
        async with keeper.transaction(SCOPE, ACTOR) as tx:
            await service.secret_destroy(tx, ref.secret_id, 1)
        assert await work(keeper, service.ERASE) == 1
        assert f"{ref.secret_id}/1" not in bao.kept()
        assert await work(keeper, service.ERASE) == 0

    async def test_what_was_prepared_in_vain_is_taken_away_again(self, keeper: Platform, bao: RunningOpenBao) -> None:
        prepared = await service.secret_prepare(keeper, OWNER, CLEAR)
        await service.secret_discard(keeper, prepared)
        assert f"{prepared.ref.secret_id}/1" not in bao.kept()

    async def test_secrets_from_before_the_change_to_openbao_stay_readable_and_come_under_its_key(
        self, keeper: Platform
    ) -> None:
        before = keeper.settings.model_copy(update={"custody_backend": "builtin"})
        async with running_platform(before) as old:
            ref = await keep(old)
        assert await opened(keeper, ref) == CLEAR
        await rotate(keeper)
        await work(keeper, keys.REWRAP)
        assert [destroyed for destroyed, under in await key_states(keeper) if not under] == [True, True]
        assert await opened(keeper, ref) == CLEAR

    @pytest.mark.parametrize("fault", ["away", "sealed", "token refused", "no token", "value lost"])
    async def test_a_fault_there_has_a_coded_answer(
        self, keeper: Platform, bao: RunningOpenBao, fault: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ref = await keep(keeper)
        token_file = keeper.settings.openbao_token_file
        assert token_file is not None
        token = token_file.read_text()
        if fault == "value lost":
            bao.ask("DELETE", f"secret/metadata/gpuaas/{ref.secret_id}/1")
            assert await code_of(keeper, ref) == "secret_unreadable"
            return
        try:
            if fault == "away":
                keeper.settings = keeper.settings.model_copy(update={"openbao_url": "http://127.0.0.1:9"})
            elif fault == "sealed":
                assert bao.ask("PUT", "sys/seal").is_success
            elif fault == "token refused":
                token_file.write_text("not a token")
            else:
                token_file.unlink()
            assert await code_of(keeper, ref) == "secret_store_unavailable"
            with pytest.raises(Problem) as refused:
                await service.secret_prepare(keeper, OWNER, CLEAR)
            assert refused.value.code == "secret_store_unavailable"
            assert refused.value.kind.retryable
        finally:
            token_file.write_text(token)
            if fault == "sealed":
                bao.stop()
                bao.start()
                bao.furnish()
