"""A controller as a process of its own: settings from the environment, and an end in good order on SIGTERM."""

import asyncio
import logging
import os
import signal
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.app import AppController
from gpuaas_sdk.controller.line import Line
from gpuaas_sdk.controller.replica import Replica
from gpuaas_sdk.credentials import ServiceAccountCredentials
from gpuaas_sdk.retries import RetryPolicy

PATIENT = RetryPolicy(attempts=8)  # a restart of the api in the middle of a step is nothing that a person need hear of


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """From GPUAAS_URL, _PROJECT, _CLIENT_ID, _CLIENT_SECRET_FILE, _CA_FILE, _REPLICA, _CONCURRENCY, _METRICS_PORT."""

    url: str
    project_id: str
    client_id: str
    client_secret: str = field(repr=False)
    ca_file: str | None = None
    replica: str = field(default_factory=socket.gethostname)
    concurrency: int = 8
    metrics_port: int | None = None

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "ControllerSettings":
        wanted = ("GPUAAS_URL", "GPUAAS_PROJECT", "GPUAAS_CLIENT_ID", "GPUAAS_CLIENT_SECRET_FILE")
        missing = [name for name in wanted if not environ.get(name)]
        if missing:
            raise SystemExit(f"not set: {', '.join(missing)}")
        # The secret comes as a file: an environment shows in crash reports, and children inherit it.
        url, project, client_id, secret_file = (environ[name] for name in wanted)
        port = environ.get("GPUAAS_METRICS_PORT")
        return cls(
            url=url,
            project_id=project,
            client_id=client_id,
            client_secret=Path(secret_file).read_text().strip(),
            ca_file=environ.get("GPUAAS_CA_FILE"),
            replica=environ.get("GPUAAS_REPLICA") or socket.gethostname(),
            concurrency=int(environ.get("GPUAAS_CONCURRENCY") or 8),
            metrics_port=int(port) if port else None,
        )


def connect(settings: ControllerSettings, app: AppController) -> AsyncClient:
    credentials = ServiceAccountCredentials(settings.client_id, settings.client_secret)
    return AsyncClient(
        settings.url,
        credentials=credentials,
        ca_file=settings.ca_file,
        retry=PATIENT,
        user_agent=f"gpuaas-controller/{app.slug}",
    )


async def serve(app: AppController, settings: ControllerSettings) -> None:
    async with connect(settings, app) as client:
        line = Line(client, settings.project_id, settings.replica)
        replica = Replica(app, line, concurrency=settings.concurrency)
        metrics = None if settings.metrics_port is None else await replica.metrics.serve(settings.metrics_port)
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, told.set)
        running, ending = asyncio.create_task(replica.run()), asyncio.create_task(told.wait())
        await asyncio.wait({running, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        await replica.stop()
        await running
        if metrics is not None:
            metrics.close()


def main(app: AppController) -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    for noisy in ("httpx", "asyncssh"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    # An account that a service manager makes up, or a bare number in a container, has no home; the SSH library asks for one.
    os.environ.setdefault("HOME", "/")
    asyncio.run(serve(app, ControllerSettings.from_environment()))
