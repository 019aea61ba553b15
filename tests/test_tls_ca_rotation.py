"""The TLS CA is rotated under a running platform with two api processes: nobody who trusts it is cut off before its time."""

import asyncio
import json
import ssl
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.error import URLError

import pytest
from cryptography import x509

from gpuaas_agent.sim import SimFleet
from gpuaas_agent.sim import node as simulated
from gpuaas_sdk import NewAllocation, PlatformKey
from gpuaas_sdk.testing import RunningServer, Sandbox, free_port
from system_support.ledger import Ledger, until

CONNECTIONS = 8  # so many in a row reach both processes, but for one time in a hundred


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    bind = f"127.0.0.1:{free_port()}"
    settings = {"https_bind": bind, "agent_urls": json.dumps([f"https://{bind}"]), "node_lost_seconds": "30"}
    with RunningServer.start(api_processes="2", login_rate_per_minute="100000", **settings) as server:
        made = Sandbox.create(server)
        made.offer()
        yield made


def authorities(sandbox: Sandbox) -> list[PlatformKey]:
    """Newest first, without retired ones."""
    return [key for key in sandbox.admin.platform_keys.list() if key.kind == "tls_ca" and key.retired_at is None]


def https(sandbox: Sandbox) -> str:
    return str(json.loads(sandbox.server.environment["GPUAAS_AGENT_URLS"])[0])


def answers(url: str, trusted_pem: str) -> list[bool]:
    """Whether new connections of a client that trusts only this are verified."""
    context = ssl.create_default_context(cadata=trusted_pem)
    found = []
    for _ in range(CONNECTIONS):
        try:
            with urllib.request.urlopen(f"{url}/healthz", timeout=10, context=context):  # noqa: S310
                found.append(True)
        except URLError as error:
            assert isinstance(error.reason, ssl.SSLCertVerificationError), error
            found.append(False)
    return found


def let_sign(sandbox: Sandbox) -> None:
    """As after ten minutes; another change of keys makes the processes look."""
    Ledger(sandbox.server.database_url()).change("UPDATE platform_keys SET signs_from = created_at")
    sandbox.admin.platform_keys.rotate("registry_token", "so that everybody looks")


async def test_agents_follow_a_new_ca_and_clients_are_cut_off_only_when_the_old_one_is_retired(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulated, "HEARTBEAT_SECONDS", 0.5)
    bundle = await asyncio.to_thread(lambda: sandbox.admin.enrolment_tokens.create(max_uses=3).bundle or "")
    async with SimFleet(None, bundle, nodes=3):
        await asyncio.to_thread(sandbox.approve_new, set(), 3)
        await asyncio.to_thread(rotate_whole, sandbox)


def rotate_whole(sandbox: Sandbox) -> None:
    url, [old] = https(sandbox), authorities(sandbox)
    files = Path(sandbox.server.environment["GPUAAS_DATA_DIR"]) / "tls"
    assert all(answers(url, old.certificate or ""))
    new = sandbox.admin.platform_keys.rotate("tls_ca", "the yearly rotation")
    assert new.state == "next"
    let_sign(sandbox)
    until(lambda: all(answers(url, new.certificate or "")), "certificates of the new CA")
    assert all(answers(url, old.certificate or "")), "who pinned the old CA was cut off too early"
    until(lambda: authorities(sandbox)[0].unconfirmed.total == 0, "every agent trusts the new CA", 120.0)
    sandbox.admin.platform_keys.retire(old.id, "replaced")
    until(lambda: not any(answers(url, old.certificate or "")), "the old CA leads nowhere")
    assert all(answers(url, new.certificate or ""))
    chain = x509.load_pem_x509_certificates((files / "server.pem").read_bytes())
    assert len(chain) == 1
    assert (files / "ca.crt").read_text() == new.certificate
    [made] = sandbox.admin.allocations.create(sandbox.project_id, NewAllocation(sku="h100-slice", gpu_count=1))
    last = list(sandbox.admin.allocations.follow(sandbox.project_id, [made.id], 90.0))[-1]
    assert last.state == "active", last.failure
    sandbox.admin.allocations.release(sandbox.project_id, made.id)


def test_a_scraper_sees_when_the_certificate_ends(sandbox: Sandbox) -> None:
    with urllib.request.urlopen(f"{sandbox.server.url}/metrics", timeout=10) as answer:  # noqa: S310
        lines = answer.read().decode().splitlines()
    [line] = [one for one in lines if one.startswith('gpuaas_certificate_expiry_timestamp_seconds{listener="https"}')]
    files = Path(sandbox.server.environment["GPUAAS_DATA_DIR"]) / "tls"
    certificate = x509.load_pem_x509_certificate((files / "server.pem").read_bytes())
    assert float(line.split(" ")[1]) == certificate.not_valid_after_utc.timestamp()
