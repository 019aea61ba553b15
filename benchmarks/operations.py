"""Measures the time from the request for an operation until an idle controller claims it."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from statistics import quantiles

from benchmarks import REPOSITORY
from benchmarks.figures import Figure, Size
from gpuaas_sdk import Operation
from gpuaas_sdk.controller import ControllerSettings
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox

HOW = """\
A real server (api, worker, embedded PostgreSQL with durable commits) and one controller made with the SDK in a process of
its own, on one machine. One operation at a time is posted over HTTP while the controller waits in its long poll; the next
one when it has ended. Delay: from just before the request is sent to the first line of the controller's handler, so it
holds the request itself, the wake-up, the answer of the poll, the claim and its answer. The server's own share, from the
transaction that wrote the operation to the one that claimed it, is in the note."""
PER_ROUND = 100
CLAIMER = "benchmarks.claimer"
WAIT_SECONDS = 30.0
MANIFEST = """\
manifest: 1
slug: waiting
display_name: Waiting
version: 1.0.0
runtime_version: "1"
artifact: {kind: controller, digest: "{digest}"}
compatibility: {}
components: [{key: one, min: 1, max: 1}]
footprint: {}
"""


@dataclass(frozen=True, slots=True)
class Delay:
    """In milliseconds: as seen from outside, and between the server's two transactions."""

    outside: float
    inside: float


@contextmanager
def controller(
    settings: ControllerSettings, program: Sequence[str], server: RunningServer
) -> Iterator["subprocess.Popen[str]"]:
    """Run a controller, a module and its arguments, in a process of its own."""
    secret = server.directory / "controller-secret"
    secret.write_text(settings.client_secret)
    environment = {
        **os.environ,
        "GPUAAS_URL": settings.url,
        "GPUAAS_PROJECT": settings.project_id,
        "GPUAAS_CLIENT_ID": settings.client_id,
        "GPUAAS_CLIENT_SECRET_FILE": str(secret),
    }
    command = [sys.executable, "-m", *program]
    process = subprocess.Popen(
        command, env=environment, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(30)


def heard(process: "subprocess.Popen[str]") -> tuple[str, float]:
    if process.stdout is None:
        raise RuntimeError("the controller has no voice")
    line = process.stdout.readline().split()
    if len(line) != 2:
        raise RuntimeError("the controller ended")
    return line[0], float(line[1])


def measured(catalog_app: CatalogApp, instance: str, process: "subprocess.Popen[str]") -> Delay:
    began = time.time()
    posted = catalog_app.operate(instance, "reconcile")
    operation, claimed = heard(process)
    if operation != posted.id:
        raise RuntimeError(f"{operation} was claimed, and {posted.id} was posted")
    ended = at_rest(catalog_app, posted.id)
    if ended.created_at is None or ended.claimed_at is None:
        raise RuntimeError("it was not claimed")
    return Delay((claimed - began) * 1e3, (ended.claimed_at - ended.created_at).total_seconds() * 1e3)


def at_rest(catalog_app: CatalogApp, operation_id: str) -> Operation:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        now = catalog_app.sandbox.admin.operations.show(catalog_app.project_id, operation_id)
        if not now.live:
            return now
        time.sleep(0.01)
    raise RuntimeError(f"{operation_id} did not end")


def delays(size: Size) -> list[Delay]:
    with RunningServer.start(log_level="WARNING", token_minutes="60") as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        with sandbox.simulated_fleet(1):
            catalog_app = CatalogApp(sandbox, "waiting")
            catalog_app.publish(MANIFEST, b"nothing to run")
            with controller(catalog_app.controller(), [CLAIMER, catalog_app.slug], server) as process:
                instance, deploy = catalog_app.deploy("idle", [("one", catalog_app.allocate(1)[0])])
                heard(process)
                catalog_app.ended(deploy)
                count = 5 if size.quick else size.rounds * PER_ROUND
                return [measured(catalog_app, instance, process) for _ in range(count)]


def run(size: Size) -> list[Figure]:
    found = delays(size)
    outside, inside = _percentiles([one.outside for one in found]), _percentiles([one.inside for one in found])
    limits = {50: 50.0, 99: 250.0}
    return [
        Figure(
            f"operation posted → claimed by an idle controller, p{share}",
            outside[share - 1],
            "ms",
            limit,
            at_least=False,
            note=f"{len(found)} operations; between the server's two transactions {inside[share - 1]:.1f} ms",
        )
        for share, limit in limits.items()
    ]


def _percentiles(values: list[float]) -> list[float]:
    return quantiles(values, n=100, method="inclusive")
