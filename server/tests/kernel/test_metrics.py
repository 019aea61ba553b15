"""Who may read the metrics: processes of the machine itself, and platform roles; no stranger."""

from collections.abc import AsyncIterator

import httpx
import pytest

from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.processes import worker
from tests_support import agents
from tests_support.agents import Site


@pytest.fixture
async def site(platform: Platform) -> AsyncIterator[Site]:
    async with agents.opened(platform) as opened:
        yield opened


async def read(site: Site, address: str, **headers: str) -> httpx.Response:
    app = site.client._transport.app  # type: ignore[attr-defined]
    transport = httpx.ASGITransport(app=app, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        return await client.get("/metrics", headers=headers)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.53", "::1"])
async def test_a_process_of_the_machine_reads_the_metrics(site: Site, address: str) -> None:
    answer = await read(site, address)
    assert answer.status_code == 200
    assert "gpuaas_http_requests_total" in answer.text


@pytest.mark.parametrize("address", ["192.0.2.1", "10.0.0.1", "::ffff:192.0.2.1", "", "localhost.example"])
async def test_a_stranger_reads_nothing(site: Site, address: str) -> None:
    answer = await read(site, address)
    assert (answer.status_code, answer.json()["code"]) == (401, "unauthenticated")


@pytest.mark.parametrize("header", ["X-Forwarded-For", "Forwarded", "X-Real-IP"])
async def test_what_a_proxy_on_the_machine_forwards_is_a_strangers(site: Site, header: str) -> None:
    assert (await read(site, "127.0.0.1", **{header: "127.0.0.1"})).status_code == 401


async def test_a_platform_role_reads_the_metrics_from_elsewhere_and_no_other_does(site: Site) -> None:
    assert (await read(site, "192.0.2.1", Authorization=f"Bearer {site.admin.token}")).status_code == 200
    tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
    person = {"email": "ann@acme.test", "name": "Ann", "password": "correct horse battery"}
    await site.admin.post(f"/tenants/{tenant['id']}/users", person)
    grant = {"grant_type": "password", "username": person["email"], "password": person["password"]}
    token = (await site.client.post("/auth/token", json=grant)).json()["access_token"]
    assert (await read(site, "192.0.2.1", Authorization=f"Bearer {token}")).status_code == 403


def test_the_worker_serves_its_metrics_on_loopback_and_says_where(settings: Settings) -> None:
    worker._serve_metrics(settings)
    address = (settings.data_dir / worker.METRICS_ADDRESS).read_text().strip()
    assert address.startswith("127.0.0.1:")
    assert "gpuaas_work_total" in httpx.get(f"http://{address}/metrics", timeout=60).text


def test_the_worker_serves_no_metrics_where_they_are_switched_off(settings: Settings) -> None:
    worker._serve_metrics(settings.model_copy(update={"worker_metrics_bind": ""}))
    assert not (settings.data_dir / worker.METRICS_ADDRESS).exists()
