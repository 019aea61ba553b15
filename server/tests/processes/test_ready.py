"""An api is ready once every one of its listeners listens."""

import asyncio
import urllib.request
from urllib.error import HTTPError

import pytest

from gpuaas_sdk.testing import free_port
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.processes import api
from gpuaas_server.processes.https import HttpsContext


class CertificateIssued(Exception):
    """Ends the api of the test."""


def status_of(url: str) -> int:
    try:
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
            return int(answer.status)
    except HTTPError as error:
        return error.code


async def test_an_api_is_not_ready_while_its_https_listener_waits_for_a_certificate(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    http, https = f"127.0.0.1:{free_port()}", f"127.0.0.1:{free_port()}"
    found: list[int] = []

    async def renew(self: HttpsContext, platform: Platform) -> None:
        found.append(await asyncio.to_thread(status_of, f"http://{http}/healthz"))
        found.append(await asyncio.to_thread(status_of, f"http://{http}/readyz"))
        raise CertificateIssued

    monkeypatch.setattr(HttpsContext, "renew", renew)
    with pytest.raises(CertificateIssued):
        await api.serve(settings.model_copy(update={"http_bind": http, "https_bind": https}))
    assert found == [200, 503]
