"""The TLS CA is rotated: who trusts only the old one gets through until it is retired, who trusts the new one always."""

import asyncio
import ssl
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.pki import tls, tls_authority
from gpuaas_server.pki.tls_authority import authority_digest
from gpuaas_server.processes import certificates
from tests_support.agents import Host, Json, Site, ssh_line

WHY = {"reason": "the CA leaked"}


async def authorities(site: Site) -> list[Json]:
    """Newest first, without retired ones."""
    items = (await site.admin.get("/platform-keys"))["items"]
    return [key for key in items if key["kind"] == "tls_ca" and key["retired_at"] is None]


async def rotate(site: Site) -> tuple[Json, Json]:
    """The old and the new one, which signs by now."""
    await tls.authority_pem(site.platform)
    new = await site.admin.post("/platform-keys/rotate", {"kind": "tls_ca", **WHY})
    await let_sign(site)
    found, old = await authorities(site)
    assert (found["id"], found["state"], old["state"]) == (new["id"], "active", "trusted")
    return old, new


async def let_sign(site: Site) -> None:
    """As after ten minutes. The clock stays: TLS goes by the real one."""
    async with site.platform.database.connection(PLATFORM) as connection:
        await connection.execute("UPDATE platform_keys SET signs_from = created_at")


async def beat(host: Host, **more: object) -> Json:
    said = {"agent_version": "0.1.0", "boot_id": "b", "address": "10.0.0.1", "ssh_host_public_key": ssh_line()}
    answer = await host.call("POST", "/heartbeat", said | more)
    assert answer.status_code == 200, answer.text
    found: Json = answer.json()
    return found


async def reaches(trusted_pem: str, files: tls.TlsFiles) -> bool:
    """Whether a strict client that trusts only this gets through to a listener with these files."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.chain_path)
    trusting = ssl.create_default_context(cadata=trusted_pem)
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
    async with server:
        port = server.sockets[0].getsockname()[1]
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
        except ssl.SSLCertVerificationError:
            return False
        writer.close()
        return True


async def certificate(site: Site, directory: Path) -> tls.TlsFiles:
    return await tls.ensure_server_certificate(site.platform, ["127.0.0.1"], directory)


def issuers(files: tls.TlsFiles) -> list[x509.Certificate]:
    return x509.load_pem_x509_certificates(files.chain_path.read_bytes())


async def test_old_and_new_clients_get_through_until_the_old_ca_is_retired(site: Site, tmp_path: Path) -> None:
    before = await certificate(site, tmp_path)
    first = before.chain_path.read_text()
    [old] = await authorities(site)
    new = await site.admin.post("/platform-keys/rotate", {"kind": "tls_ca", **WHY})
    assert new["state"] == "next"
    published = await certificate(site, tmp_path)
    assert published.ca_path.read_text() == new["certificate"] + old["certificate"]
    assert (await reaches(old["certificate"], published), await reaches(new["certificate"], published)) == (True, False)
    await let_sign(site)
    signed = await certificate(site, tmp_path)
    assert signed.chain_path.read_text() != first
    assert (await reaches(old["certificate"], signed), await reaches(new["certificate"], signed)) == (True, True)
    assert await certificate(site, tmp_path) == signed
    await site.admin.post(f"/platform-keys/{old['id']}/retire", WHY)
    after = await certificate(site, tmp_path)
    assert (await reaches(old["certificate"], after), await reaches(new["certificate"], after)) == (False, True)
    assert len(issuers(after)) == 1
    assert after.ca_path.read_text() == new["certificate"]


async def test_the_cross_certificate_ends_with_the_server_certificate(site: Site, tmp_path: Path) -> None:
    await rotate(site)
    leaf, crossing = issuers(await certificate(site, tmp_path))
    assert crossing.not_valid_after_utc <= leaf.not_valid_after_utc
    assert crossing.not_valid_after_utc - crossing.not_valid_before_utc <= timedelta(days=60)


async def test_rotated_twice_every_ca_that_is_trusted_leads_to_us(site: Site, tmp_path: Path) -> None:
    old, new = await rotate(site)
    second = await site.admin.post("/platform-keys/rotate", {"kind": "tls_ca", **WHY})
    await let_sign(site)
    files = await certificate(site, tmp_path)
    assert len(issuers(files)) == 3
    for key in (old, new, second):
        assert await reaches(key["certificate"], files)


async def test_a_ca_of_an_older_release_which_allows_no_further_step_is_rotated_as_well(tmp_path: Path) -> None:
    """The certificate for its successor is self-issued: it has the same name on both sides, and does not count."""
    now, life = utc_now(), timedelta(days=7)
    first, second, own = (ec.generate_private_key(ec.SECP256R1()) for _ in range(3))
    old = tls_authority.certificate_of_authority(first, now, path_length=0)
    new = tls_authority.certificate_of_authority(second, now)
    chain = tls_authority.server_certificate(new, second, own.public_key(), ["127.0.0.1"], now, life)
    chain += tls_authority.cross_certificate(new, old, first, now, life)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    (tmp_path / "server.pem").write_text(chain + own.private_bytes(*form).decode())
    files = tls.TlsFiles(tmp_path / "server.pem", tmp_path / "ca.crt")
    assert (await reaches(old, files), await reaches(new, files)) == (True, True)


async def test_the_old_ca_is_retired_when_every_living_agent_trusts_the_new_one(site: Site) -> None:
    one, two = await site.host("one"), await site.host("two", "10.0.0.2")
    old, new = await rotate(site)
    digest = authority_digest(new["certificate"])
    refused = await site.admin.call("POST", f"/platform-keys/{old['id']}/retire", WHY)
    assert (refused.status_code, refused.json()["details"]["nodes"]) == (409, ["one", "two"])
    await beat(one, tls_anchors=[authority_digest(old["certificate"]), digest])
    waiting = (await authorities(site))[0]["unconfirmed"]
    assert waiting == {"alive": 1, "total": 1, "names": ["two"]}
    assert (await site.admin.call("POST", f"/platform-keys/{old['id']}/retire", WHY)).status_code == 409
    await beat(two, tls_anchors=[])  # it speaks plain HTTP on loopback
    assert (await authorities(site))[0]["unconfirmed"] == {"alive": 0, "total": 0, "names": []}
    await site.admin.post(f"/platform-keys/{old['id']}/retire", WHY)
    assert [key["id"] for key in await authorities(site)] == [new["id"]]


async def test_an_administrator_may_retire_it_all_the_same(site: Site) -> None:
    await site.host("one")
    old, _ = await rotate(site)
    await site.admin.post(f"/platform-keys/{old['id']}/retire", WHY | {"force": True})
    [row] = (await site.admin.get("/audit?action=platform_key_retire"))["items"]
    assert (row["details"]["forced"], row["reason"]) == (True, WHY["reason"])


async def test_a_ca_that_does_not_sign_yet_replaces_nothing(site: Site) -> None:
    await tls.authority_pem(site.platform)
    [old] = await authorities(site)
    await site.admin.post("/platform-keys/rotate", {"kind": "tls_ca", **WHY})
    early = await site.admin.call("POST", f"/platform-keys/{old['id']}/retire", WHY | {"force": True})
    assert early.status_code == 409


async def test_the_enrolment_bundle_names_a_ca_that_hosts_are_offered(site: Site) -> None:
    old, new = await rotate(site)
    offered = (await site.client.get("/agent/ca")).json()
    assert offered["ca_pem"] == old["certificate"]
    assert offered["anchors"] == [new["certificate"], old["certificate"]]


async def test_a_renewal_that_fails_is_counted_and_told_until_it_succeeds(platform: Platform, tmp_path: Path) -> None:
    async def fail() -> None:
        raise Problem("secret_store_unavailable")

    def failures() -> float:
        return metrics.certificate_failures.labels("test")._value.get()

    for expected in (1, 2):
        await certificates.renew_once(platform, "test", fail)
        assert failures() == expected
        assert len(platform.warnings) == 1
    files = await tls.ensure_server_certificate(platform, ["a"], tmp_path)

    async def succeed() -> object:
        return files.expiry()

    await certificates.renew_once(platform, "test", succeed)  # type: ignore[arg-type]
    assert platform.warnings == {}
    assert metrics.certificate_expiry.labels("test")._value.get() == files.expiry().timestamp()


@pytest.mark.parametrize("path", ["/readyz"])
async def test_a_warning_is_part_of_the_readiness_answer(site: Site, path: str) -> None:
    site.platform.warnings["a"] = "something is near its end"
    answer = await site.client.get(f"http://test{path}")
    assert (answer.status_code, answer.json()["warnings"]) == (200, ["something is near its end"])
