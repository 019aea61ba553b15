"""The registry process: docker-registry under our own configuration, restarted when the keys that it must trust change.

It lives and dies with this process. Its data is in the data directory; who may do what there is decided by our tokens.
"""

import asyncio
import json
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from psycopg import Error

from gpuaas_server.artifacts import registry_collection
from gpuaas_server.artifacts.backends import LOOPBACK
from gpuaas_server.artifacts.registry_collection import registry_data
from gpuaas_server.artifacts.registry_storage import RegistryStorage
from gpuaas_server.artifacts.registry_tokens import ISSUER, SERVICE
from gpuaas_server.kernel.child_process import end_with_parent
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import TlsFiles, ensure_server_certificate
from gpuaas_server.runtime import running_platform

PROGRAM = "docker-registry"
LOOK_SECONDS = 30.0
STOP_SECONDS = 5.0

log = logging.getLogger(__name__)


def realm(settings: Settings) -> str:
    return settings.registry_realm or f"{settings.agent_urls[0].rstrip('/')}/api/v1/registry/token"


def configuration(settings: Settings, directory: Path, secret: str, tls: TlsFiles | None) -> dict[str, object]:
    """Return the configuration of docker-registry. It is written as JSON, which docker-registry reads as YAML."""
    http: dict[str, object] = {"addr": settings.registry_bind, "secret": secret}
    if tls is not None:
        http["tls"] = {"certificate": str(tls.chain_path), "key": str(tls.chain_path)}
    token = {
        "realm": realm(settings),
        "service": SERVICE,
        "issuer": ISSUER,
        "rootcertbundle": str(directory / "trust.pem"),
    }
    return {
        "version": 0.1,
        "log": {"level": "warn", "accesslog": {"disabled": True}},
        "storage": {"filesystem": {"rootdirectory": str(registry_data(settings))}, "delete": {"enabled": True}},
        "http": http,
        "auth": {"token": token},
    }


async def trust_bundle(platform: Platform) -> str:
    """Return the certificates of every living key, those that sign only later too."""
    living = await pki.authorities(platform, "registry_token")
    return "".join(key.certificate or "" for key in living)


async def _reads(platform: Platform) -> tuple[str, str]:
    """Return what the registry reads only at its start: the keys that it trusts, and its certificate, renewed here if due."""
    files = await _tls(platform)
    return await trust_bundle(platform), files.chain_path.read_text() if files else ""


async def _tls(platform: Platform) -> TlsFiles | None:
    settings = platform.settings
    if settings.registry_bind.startswith(LOOPBACK):
        return None
    host = settings.registry_bind.rpartition(":")[0].strip("[]")
    public = settings.registry_host.rpartition(":")[0] or settings.registry_host
    names = {name for name in (host, public, "localhost", socket.gethostname()) if name not in ("", "0.0.0.0", "::")}
    return await ensure_server_certificate(platform, sorted(names), settings.data_dir / "registry" / "tls")


def _spawn(configuration_file: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([PROGRAM, "serve", str(configuration_file)], preexec_fn=end_with_parent())


def _write(path: Path, text: str) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(text)
    fresh.replace(path)


async def _prepare(platform: Platform) -> Path:
    """Write what the registry reads at its start, and return its configuration file. Upload sessions get a new secret."""
    directory = (platform.settings.data_dir / "registry").absolute()
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    _write(directory / "trust.pem", await trust_bundle(platform))
    said = configuration(platform.settings, directory, secrets.token_hex(32), await _tls(platform))
    _write(directory / "config.yml", json.dumps(said))
    return directory / "config.yml"


class RegistryProcess:
    """docker-registry, and what is done about its files between two looks at it."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._storage = RegistryStorage(registry_data(platform.settings))
        self._collect_seconds = platform.settings.registry_collect_hours * 3600
        self._collect_at = time.monotonic() + self._collect_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._configuration = Path()
        self._reads = ("", "")

    async def start(self) -> None:
        """Start the registry, or restart it, with its newest configuration, keys and certificate."""
        self._configuration = await _prepare(self._platform)
        self._reads = await _reads(self._platform)
        await self.stop()
        self._process = _spawn(self._configuration)

    async def run(self, stopping: asyncio.Event) -> int | None:
        """Run until told to stop, or until docker-registry ends by itself; then return its exit status."""
        while self._process is not None and self._process.poll() is None and not stopping.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await _ended(self._process, stopping)
                continue
            with suppress(Error, Problem):  # the database is unavailable: the keys are what they were
                await self._look()
        return None if self._process is None or stopping.is_set() else self._process.returncode

    async def _look(self) -> None:
        if self._reads != await _reads(self._platform):
            log.info("the registry's trusted keys or its certificate changed; starting it again")
            await self.start()
        await registry_collection.measure(self._platform, self._storage)
        if time.monotonic() >= self._collect_at:
            self._collect_at = time.monotonic() + self._collect_seconds
            await self.collect_garbage()

    async def collect_garbage(self) -> None:
        """Remove garbage. It is searched again after the registry stopped: an image pushed meanwhile may need some of it."""
        if (await registry_collection.find_garbage(self._platform, self._storage)).is_empty:
            return
        await self.stop()
        try:
            garbage = await registry_collection.find_garbage(self._platform, self._storage)
            await asyncio.to_thread(self._storage.remove, garbage)
        finally:
            self._process = _spawn(self._configuration)
        log.info("removed what nothing refers to from the registry", extra=garbage.document())
        await registry_collection.measure(self._platform, self._storage)

    async def stop(self) -> None:
        if self._process is not None:
            await asyncio.to_thread(_stop, self._process)


async def serve(settings: Settings) -> None:
    if shutil.which(PROGRAM) is None:
        raise StartFailed(f"GPUAAS_REGISTRY_BIND is set, but {PROGRAM} is not installed (tools/setup does it)")
    async with running_platform(settings) as platform:
        stopping = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, stopping.set)
        registry = RegistryProcess(platform)
        try:
            await platform.database.health.until_available(registry.start)
            status = await registry.run(stopping)
        finally:
            await registry.stop()
        if status is not None:
            raise StartFailed(f"{PROGRAM} ended with {status}")


async def _ended(process: subprocess.Popen[bytes], stopping: asyncio.Event) -> None:
    while process.poll() is None and not stopping.is_set():
        await asyncio.sleep(0.1)


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def run(settings: Settings) -> None:
    asyncio.run(serve(settings))
