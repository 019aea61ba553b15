"""An api starts with the certificate of its last run where a new one is due and cannot be stored, as on a full disk."""

import json
import ssl
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from gpuaas_sdk.testing import free_port
from gpuaas_server.kernel.context import Platform
from gpuaas_server.peers.service import PeerServer
from tests_support.server_processes import ServerProcess, run, running, until


def refuse_writes(directory: Path) -> None:
    """Make every renewal fail with an error of the file system: its lock cannot be opened for writing."""
    lock = directory / ".lock"
    lock.unlink(missing_ok=True)
    lock.mkdir(parents=True)


def serves_https(port: int, authority: Path) -> bool:
    try:
        context = ssl.create_default_context(cafile=str(authority))
        return httpx.get(f"https://127.0.0.1:{port}/readyz", verify=context, timeout=20).status_code == 200
    except (OSError, httpx.TransportError):
        return False


def test_an_api_goes_on_with_its_stored_certificate(tmp_path: Path, fresh_database_url: str) -> None:
    tls, ports = tmp_path / "var" / "tls", (free_port(), free_port())
    settings = {"database_url": fresh_database_url, "https_bind": f"127.0.0.1:{ports[1]}"}
    with running("api", tmp_path, ports[0], **settings):
        until(lambda: serves_https(ports[1], tls / "ca.crt"), "the first certificate")
    stored = (tls / "server.pem").read_text()
    refuse_writes(tls)
    settings["agent_urls"] = json.dumps(["https://another-name.example"])  # so that a new certificate is due
    with ExitStack() as stack:
        api: ServerProcess = stack.enter_context(running("api", tmp_path, ports[0], **settings))
        until(lambda: serves_https(ports[1], tls / "ca.crt"), "https with the stored certificate")
        told = [line["message"] for line in api.lines()]
        assert told == ["a server certificate could not be renewed"]
    assert (tls / "server.pem").read_text() == stored


def test_an_api_without_any_certificate_says_why_it_cannot_start(tmp_path: Path, fresh_database_url: str) -> None:
    tls = tmp_path / "var" / "tls"
    refuse_writes(tls)
    binds = {"http_bind": f"127.0.0.1:{free_port()}", "https_bind": f"127.0.0.1:{free_port()}"}
    ended = run(["api"], tmp_path, database_url=fresh_database_url, **binds)
    assert ended.returncode == 1, ended.stderr
    assert json.loads(ended.stderr.splitlines()[-1])["message"] == f"cannot run: Is a directory: {tls / '.lock'}"


async def test_a_peer_listener_goes_on_with_its_stored_certificate(platform: Platform) -> None:
    settings = platform.settings
    platform.settings = settings.model_copy(update={"peer_bind": "0.0.0.0:0"})
    files = settings.data_dir / "peer-tls"
    refuse_writes(files)
    with pytest.raises(IsADirectoryError):
        async with PeerServer(platform).running():
            pass
    (files / ".lock").rmdir()
    async with PeerServer(platform).running():
        pass
    (files / "ca.crt").unlink()  # so that new files are due
    refuse_writes(files)
    async with PeerServer(platform).running():
        assert not (files / "ca.crt").exists()
