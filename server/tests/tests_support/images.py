"""A real registry that the platform runs and gives tokens for, and small images to push into it."""

import asyncio
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import uvicorn

from gpuaas_sdk import Client
from gpuaas_sdk.registry import IMAGE_MANIFEST, Repository
from gpuaas_server.app import build_app
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from tests_support.artifacts import Json, Workshop, digest_of, workshop
from tests_support.parts import part

HANG_SECONDS = 180.0  # a guard against hanging: a registry starts slowly where the machine is busy


@dataclass
class RegistrySite:
    """The API on a port of its own (clients of the registry are sent to it), and the registry process."""

    shop: Workshop
    api: str
    registry: str
    process: subprocess.Popen[bytes]
    directory: Path

    def client(self) -> Client:
        return Client(self.api, token=self.shop.admin.token)

    def repository(self, name: str = "image", token: str | None = None) -> Repository:
        client = Client(self.api, token=token) if token else self.client()
        full = f"{self.shop.project_id}/{name}"
        return Repository(self.registry, full, lambda scope: client.artifacts.registry_token(scope=[scope]).token)

    async def push(self, name: str = "image", layers: int = 2) -> str:
        """For an intent that stays open; the digest."""
        await self.shop.intend("oci", name)
        return await asyncio.to_thread(push_image, self.repository(name), layers)

    async def publish(self, name: str = "image") -> Json:
        intent = await self.shop.intend("oci", name)
        assert intent["push"] == {"registry": self.registry, "repository": f"{self.shop.project_id}/{name}"}
        digest = await asyncio.to_thread(push_image, self.repository(name))
        await self.shop.complete(intent, digest)
        await self.shop.work()
        await self.shop.work()
        registered = await self.shop.intent(intent)
        assert registered["state"] == "registered", registered
        return await self.shop.artifact(registered["artifact_id"])

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait(15)


def push_image(repository: Repository, layers: int = 2) -> str:
    """An image of random bytes; the digest of its manifest."""
    contents = [os.urandom(20_000) for _ in range(layers)]
    rootfs = {"type": "layers", "diff_ids": [digest_of(one) for one in contents]}
    config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": rootfs}).encode()
    described = [described_blob("application/vnd.oci.image.layer.v1.tar", one) for one in contents]
    for content in (config, *contents):
        repository.push_blob(content)
    manifest = {
        "schemaVersion": 2,
        "mediaType": IMAGE_MANIFEST,
        "config": described_blob("application/vnd.oci.image.config.v1+json", config),
        "layers": described,
    }
    raw = json.dumps(manifest).encode()
    return repository.push_manifest(f"t{secrets.token_hex(4)}", raw)


def described_blob(media_type: str, content: bytes) -> dict[str, object]:
    return {"mediaType": media_type, "size": len(content), "digest": digest_of(content)}


@asynccontextmanager
async def listening(platform: Platform, port: int) -> AsyncIterator[None]:
    app = build_app(platform)
    server = uvicorn.Server(uvicorn.Config(app, port=port, lifespan="off", log_config=None))
    server.install_signal_handlers = lambda: None  # type: ignore[attr-defined]
    async with app.state.agent_gate.running(), app.state.gate.running():
        task = asyncio.create_task(server.serve())
        try:
            while not server.started:
                await asyncio.sleep(0.02)
            yield
        finally:
            server.should_exit = True
            await task


async def _answers(registry: str) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    async with httpx.AsyncClient(timeout=60) as client:
        while True:
            with suppress(httpx.TransportError):
                if (await client.get(f"http://{registry}/v2/")).status_code == 401:
                    return
            assert time.monotonic() < deadline, "the registry did not start"
            await asyncio.sleep(0.05)


def start_registry(settings: Settings) -> subprocess.Popen[bytes]:
    part("docker-registry")
    environment = {
        **os.environ,
        "GPUAAS_DATABASE_URL": settings.database_url.get_secret_value() if settings.database_url else "",
        "GPUAAS_DATA_DIR": str(settings.data_dir),
        "GPUAAS_REGISTRY_BIND": settings.registry_bind,
        "GPUAAS_AGENT_URLS": json.dumps(settings.agent_urls),
        "GPUAAS_LOG_LEVEL": "WARNING",
    }
    command = [sys.executable, "-m", "gpuaas_server.main", "registry"]
    return subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


@asynccontextmanager
async def registry_site(platform: Platform, settings: Settings, port: int) -> AsyncIterator[RegistrySite]:
    """`settings` name the registry's address and, as the first agent URL, the API on `port`."""
    async with listening(platform, port), workshop(platform) as shop:
        process = await asyncio.to_thread(start_registry, settings)
        try:
            await _answers(settings.registry_bind)
            yield RegistrySite(shop, settings.agent_urls[0], settings.registry_bind, process, settings.data_dir)
        finally:
            process.terminate()
            process.wait(15)
