"""The platform's own keys: made once, sealed, rotated without a gap; and the TLS certificate made with one of them."""

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.exceptions import InvalidTag

from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.pki import keys, tls, tls_authority
from gpuaas_server.runtime import running_platform
from tests_support.agents import MovableClock
from tests_support.select import select


async def test_first_users_of_two_replicas_meet_the_same_key(platform: Platform) -> None:
    async with running_platform(platform.settings) as second:
        both = (platform, second) * 4
        found = await asyncio.gather(*(keys.live_keys(each, "task_signing") for each in both))
    assert len({key.kid for each in found for key in each}) == 1


async def test_a_private_key_is_in_custody_and_opens_only_with_the_master_key(
    platform: Platform, tmp_path: Path
) -> None:
    await keys.ensure_keys(platform)
    async with platform.database.connection(PLATFORM) as connection:
        cursor = await select(
            connection,
            "SELECT k.kind, k.sealed_private_key, p.sealed_value FROM platform_keys k JOIN platform_private_keys p USING (id)",
        )
        rows = await cursor.fetchall()
    assert {row["kind"] for row in rows} == set(keys.KINDS)
    assert all(row["sealed_private_key"] is None for row in rows)
    (tmp_path / "other.key").write_text("00" * 32)
    settings = platform.settings.model_copy(update={"master_key_file": tmp_path / "other.key"})
    async with running_platform(settings) as stranger:
        with pytest.raises(InvalidTag):
            await keys.live_keys(stranger, "ssh_user_ca")


async def test_a_rotated_key_is_published_at_once_and_signs_later(platform: Platform) -> None:
    (old,) = await keys.live_keys(platform, "ssh_user_ca")
    made = await keys.key_prepare(platform, "ssh_user_ca")
    async with platform.transaction(PLATFORM, system_actor("test")) as tx:
        new = await keys.key_rotate(tx, made)
    async with platform.database.connection(PLATFORM) as connection:
        assert len(await keys.user_ca_keys(connection)) == 2
    live = await keys.live_keys(platform, "ssh_user_ca")
    assert keys.signer(live, utc_now()).kid == old.kid
    assert keys.signer(live, utc_now() + timedelta(minutes=11)).kid == new.kid


async def test_a_client_that_trusts_the_platform_ca_reaches_the_https_listener(
    platform: Platform, tmp_path: Path
) -> None:
    files = await tls.ensure_server_certificate(platform, ["127.0.0.1", "localhost"], tmp_path / "tls")
    assert files.chain_path.stat().st_mode & 0o077 == 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.chain_path)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    trusting = ssl.create_default_context(cafile=str(files.ca_path))
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    async with server, httpx.AsyncClient(verify=trusting, timeout=60) as client:
        assert (await client.get(f"https://127.0.0.1:{port}/")).text == "ok"
        assert (await client.get(f"https://localhost:{port}/")).text == "ok"
    async with httpx.AsyncClient(timeout=60) as stranger:
        with pytest.raises(httpx.ConnectError):
            await stranger.get(f"https://127.0.0.1:{port}/")


async def test_the_certificate_is_kept_for_two_thirds_of_its_life(
    platform: Platform, clock: MovableClock, tmp_path: Path
) -> None:
    async def certificate(*names: str) -> x509.Certificate:
        files = await tls.ensure_server_certificate(platform, list(names), tmp_path)
        return x509.load_pem_x509_certificate(files.chain_path.read_bytes())

    first = await certificate("a.example")
    assert first.not_valid_after_utc - first.not_valid_before_utc <= timedelta(days=60)
    assert await certificate("a.example") == first
    clock.ahead = timedelta(days=39)
    assert await certificate("a.example") == first
    clock.ahead = timedelta(days=41)
    renewed = await certificate("a.example")
    assert renewed != first
    assert await certificate("a.example", "b.example") != renewed
    clock.ahead = timedelta(days=1)  # set back: what was made is of the future now
    assert (await certificate("a.example")).not_valid_before_utc <= clock()


async def test_a_shorter_life_is_in_force_at_once(platform: Platform, tmp_path: Path) -> None:
    await tls.ensure_server_certificate(platform, ["a.example"], tmp_path)
    platform.settings = platform.settings.model_copy(update={"tls_certificate_days": 7})
    files = await tls.ensure_server_certificate(platform, ["a.example"], tmp_path)
    assert files.expiry() - utc_now() <= timedelta(days=7)


async def test_processes_that_share_a_directory_renew_together_and_have_a_pair_that_fits(
    platform: Platform, clock: MovableClock, tmp_path: Path
) -> None:
    for ahead in (0, 41, 82):
        clock.ahead = timedelta(days=ahead)
        made = await asyncio.gather(*(tls.ensure_server_certificate(platform, ["a"], tmp_path) for _ in range(6)))
        assert len({files.chain_path.read_text() for files in made}) == 1
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(made[0].chain_path)


async def test_the_digest_in_bundles_is_of_the_certificate_that_agents_fetch(platform: Platform) -> None:
    digest = await tls.pinned_digest(platform)
    assert digest == tls_authority.authority_digest(await tls.authority_pem(platform))
    assert len(digest) == 64
