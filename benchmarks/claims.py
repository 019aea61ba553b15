"""Measures the creation of allocations over HTTP in a fleet of ten thousand nodes, against a minimal claim in pgbench."""

import json
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass

from benchmarks.database import Pgbench
from benchmarks.figures import Figure, Series, Size
from benchmarks.fleet import SeededFleet
from benchmarks.load import Order, Outcome, drive, request
from benchmarks.people import member_token
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer

BULK = 64
FULL = 0.95
HOW = """\
A real server (`gpuaas-server up`: api, worker and embedded PostgreSQL, durable commits) over 10,000 nodes × 8 slots that
SQL has seeded. Load: 4 requests in flight from one process with raw sockets, each with its own Idempotency-Key, as a
`project_member`; one GPU each, or 64 one-GPU allocations in one all-or-nothing request. The worker runs and writes host
tasks for what was created (nobody executes them: the fleet has no agents), so it competes for the same two cores; the
figure without it (worker process stopped by SIGSTOP) says what share that costs. Peer: pgbench, 4 clients, prepared
`UPDATE … WHERE id = (SELECT … FOR UPDATE SKIP LOCKED LIMIT 1)` on 80,000 rows in the same PostgreSQL while the platform
is idle. Each round runs all of them one after the other; a figure is the median of the rounds' ratios."""


@dataclass(slots=True)
class Bench:
    server: RunningServer
    fleet: SeededFleet
    pgbench: Pgbench
    token: str
    path: str
    seconds: float

    def create(self, share: float, count: int = 1, worker: bool = True) -> float:
        """Return allocations per second, with this share of the slots already taken."""
        self.fleet.fill(share)
        body = json.dumps({"sku": "h100-slice", "gpu_count": 1, "count": count})
        text = request("POST", self.path, self.token, body, keyed=True)
        with nullcontext() if worker else paused_worker(self.server):
            outcome = drive(Order(port_of(self.server), text, self.seconds))
        insist(outcome, "201")
        return outcome.per_second * count


def port_of(server: RunningServer) -> int:
    return int(server.url.rpartition(":")[2])


def insist(outcome: Outcome, status: str) -> None:
    """Fail if an answer was unexpected: refusals must not be measured."""
    if set(outcome.statuses) != {status}:
        raise RuntimeError(f"unexpected answers {outcome.statuses}: {outcome.example}")


@contextmanager
def prepared(size: Size, api_processes: int) -> Iterator[Bench]:
    settings = {"api_processes": str(api_processes), "node_lost_seconds": "86400", "token_minutes": "60"}
    with RunningServer.start(log_level="WARNING", **settings) as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        fleet = SeededFleet(server, size.nodes, sandbox.tenant_id, sandbox.project_id)
        path = f"/api/v1/projects/{sandbox.project_id}/allocations"
        token = member_token(sandbox)
        yield Bench(server, fleet, Pgbench(server, fleet.slots), token, path, size.seconds)


@contextmanager
def paused_worker(server: RunningServer) -> Iterator[None]:
    pids = server.children("worker")
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


def measure(size: Size, api_processes: int) -> Series:
    series = Series()
    with prepared(size, api_processes) as bench:
        for _ in range(size.rounds):
            series.add("pgbench", bench.pgbench.claims_per_second(size.seconds))
            series.add("empty", bench.create(0.0))
            series.add("full", bench.create(FULL))
            series.add("bulk", bench.create(0.0, 4 if size.quick else BULK))
            series.add("no worker", bench.create(0.0, worker=False))
    return series


def run(size: Size) -> list[Figure]:
    figures: list[Figure] = []
    for processes in (1, 2):
        series = measure(size, processes)
        label = f"{processes} api process{'es' if processes > 1 else ''}"
        peer, empty = series.median("pgbench"), series.median("empty")
        cost = 1 - series.ratio("empty", "no worker")
        figures += [
            Figure(
                f"create against pgbench, {label}",
                series.ratio("empty", "pgbench"),
                limit=0.05,
                note=f"{empty:.0f}/s ({series.spread('empty')}) against {peer:.0f}/s; the worker costs {cost:.0%}",
            ),
            Figure(
                f"95 % full against empty, {label}",
                series.ratio("full", "empty"),
                limit=0.7,
                note=f"{series.median('full'):.0f}/s",
            ),
            Figure(
                f"bulk of {BULK} against pgbench, claims for claims, {label}",
                series.ratio("bulk", "pgbench"),
                limit=0.5,
                note=f"{series.median('bulk'):.0f} claims/s",
            ),
        ]
    return figures
