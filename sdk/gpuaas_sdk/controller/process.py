"""Runs a controller as a process: settings from the environment, and a graceful shutdown on SIGTERM."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.client import ControllerClient
from gpuaas_sdk.controller.replica import Replica
from gpuaas_sdk.controller.served_apps import title_of
from gpuaas_sdk.credentials import ClientCertificate, ServiceAccountCredentials
from gpuaas_sdk.retries import RetryPolicy

log = logging.getLogger(__name__)
CONTROLLER_RETRIES = RetryPolicy(attempts=8)  # enough to outlast a restart of the API in the middle of a step


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """The settings of one replica: where the platform is, as which service account it works, and how much at a time."""

    url: str
    project_id: str
    client_id: str
    client_secret: str = field(repr=False)
    ca_file: str | None = None
    certificate: ClientCertificate | None = None
    replica: str = field(default_factory=socket.gethostname)
    concurrency: int = 8
    metrics_port: int | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] | None = None) -> "ControllerSettings":
        """Read GPUAAS_URL, GPUAAS_PROJECT, GPUAAS_CLIENT_ID and GPUAAS_CLIENT_SECRET_FILE, which must be set, and
        GPUAAS_CA_FILE, GPUAAS_CERTIFICATE_FILE, GPUAAS_CERTIFICATE_KEY_FILE, GPUAAS_REPLICA, GPUAAS_CONCURRENCY and
        GPUAAS_METRICS_PORT, which may be. Without `environ`, they come from this process's environment.
        """
        environ = os.environ if environ is None else environ
        required = ("GPUAAS_URL", "GPUAAS_PROJECT", "GPUAAS_CLIENT_ID", "GPUAAS_CLIENT_SECRET_FILE")
        missing = [name for name in required if not environ.get(name)]
        if missing:
            raise SystemExit(f"These variables are not set: {', '.join(missing)}")
        # The secret is a file: environment variables show up in crash reports, and children inherit them.
        url, project, client_id, secret_file = (environ[name] for name in required)
        port = environ.get("GPUAAS_METRICS_PORT")
        certificate, key = environ.get("GPUAAS_CERTIFICATE_FILE"), environ.get("GPUAAS_CERTIFICATE_KEY_FILE")
        return cls(
            url=url,
            project_id=project,
            client_id=client_id,
            client_secret=Path(secret_file).read_text().strip(),
            ca_file=environ.get("GPUAAS_CA_FILE"),
            certificate=ClientCertificate(certificate, key or None) if certificate else None,
            replica=environ.get("GPUAAS_REPLICA") or socket.gethostname(),
            concurrency=int(environ.get("GPUAAS_CONCURRENCY") or 8),
            metrics_port=int(port) if port else None,
        )


def connect(settings: ControllerSettings, app: AppController) -> AsyncClient:
    """Return a client of the platform's API that works as the controller's service account. It connects at its first call."""
    credentials = ServiceAccountCredentials(settings.client_id, settings.client_secret)
    return AsyncClient(
        settings.url,
        credentials=credentials,
        ca_file=settings.ca_file,
        certificate=settings.certificate,
        retry=CONTROLLER_RETRIES,
        user_agent=f"gpuaas-controller/{app.slug or 'all'}",
    )


async def serve(app: AppController, settings: ControllerSettings) -> None:
    """Run a replica of the controller until this process gets SIGTERM or SIGINT."""
    log.info("Controller of %s starts: replica %s, %s", title_of(app), settings.replica, _platform_of(settings.url))
    async with connect(settings, app) as api:
        client = ControllerClient(api, settings.project_id, settings.replica)
        replica = Replica(app, client, concurrency=settings.concurrency)
        metrics = None if settings.metrics_port is None else await replica.metrics.serve(settings.metrics_port)
        loop, signalled = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, signalled.set)
        running, stopping = asyncio.create_task(replica.run()), asyncio.create_task(signalled.wait())
        await asyncio.wait({running, stopping}, return_when=asyncio.FIRST_COMPLETED)
        stopping.cancel()
        await replica.stop()
        await running
        if metrics is not None:
            metrics.close()
    log.info("Controller of %s has stopped: replica %s", title_of(app), settings.replica)


def _platform_of(url: str) -> str:
    """Return the URL as a log may show it: the part before the host could be a name and a password."""
    found = urlsplit(url)
    return f"platform {found.scheme}://{found.netloc.rpartition('@')[2]}"


def main(app: AppController) -> None:
    """Run the controller as a program: settings from the environment, log lines to standard error."""
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for noisy in ("httpx", "asyncssh"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # A dynamic user of systemd, or a bare user id in a container, has no home; the SSH library needs one.
    os.environ.setdefault("HOME", "/")
    asyncio.run(serve(app, ControllerSettings.from_environment()))
