"""A day's work in one go: 100,000 create–release cycles, and whether memory and delays stay what they were."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

from benchmarks import REPOSITORY
from benchmarks.cycler import CycleDurations, CycleOrder
from benchmarks.database import superuser
from benchmarks.figures import Figure, Size
from benchmarks.processes import resident_megabytes
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer

AT_ONCE = 16
NODES = 8
HOW = f"""\
A real server (`gpuaas-server up`) with {NODES} × 8 simulated GPUs in a process of its own (the real agent protocol; tasks take
no time). One client process runs {AT_ONCE} cycles at once, each: create one GPU under an Idempotency-Key, wait for `active`,
release under another key, wait for `released` (deprovision, wipe and verification done on the host); one reader of the
project's events tells them. A request that is refused for a moment (a restart, a limit) is sent again under its key, counted,
and its time runs on. Nothing is removed meanwhile: retention is days. Memory: resident set of each process when a
tenth of the cycles ends; the second tenth is the base (the first warms up). Delays: p99 within each tenth."""


@dataclass(frozen=True, slots=True)
class Sample:
    tenth: CycleDurations
    megabytes: dict[str, float]  # of api and worker
    database_megabytes: float


@contextmanager
def cycling(sandbox: Sandbox, cycles: int) -> Iterator["subprocess.Popen[bytes]"]:
    credentials = sandbox.credentials("project_member")
    order = CycleOrder(
        sandbox.server.url,
        credentials.username,
        str(credentials.password),
        sandbox.project_id,
        cycles,
        min(AT_ONCE, cycles),
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.cycler"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=REPOSITORY
    )
    try:
        if process.stdin is not None:
            process.stdin.write(json.dumps(asdict(order)).encode() + b"\n")
            process.stdin.flush()
        yield process
        if process.wait(60) != 0:
            raise RuntimeError("a cycle failed; what went wrong is on standard error")
    finally:
        process.kill()
        process.wait(10)


def measure(size: Size, **settings: str) -> list[Sample]:
    common = {"log_level": "WARNING", "token_minutes": "60", "login_rate_per_minute": "100000"}
    samples = []
    with RunningServer.start(**common, **settings) as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        with sandbox.simulated_fleet(NODES), cycling(sandbox, size.cycles) as process:
            for line in process.stdout or ():
                samples.append(_sample(server, CycleDurations(**json.loads(line))))
                if not size.quick:
                    print(f"  tenth {len(samples)}: {samples[-1]}", file=sys.stderr, flush=True)
    if len(samples) != 10:
        raise RuntimeError(f"{len(samples)} tenths instead of ten")
    return samples


def _sample(server: RunningServer, tenth: CycleDurations) -> Sample:
    megabytes = {name: sum(map(resident_megabytes, server.children(name))) for name in ("api", "worker")}
    with superuser(server) as connection:
        row = connection.execute("SELECT pg_database_size('gpuaas') / 1e6").fetchone()
    return Sample(tenth, megabytes, float(str(row[0])) if row else 0.0)


def run(size: Size) -> list[Figure]:
    samples = measure(size)
    first, base, last = samples[0], samples[1], samples[-1]
    figures = [
        Figure(
            f"memory of the {name} after {size.cycles:,} cycles, last tenth against the second",
            last.megabytes[name] / base.megabytes[name],
            "×",
            1.03,
            at_least=False,
            note=" → ".join(f"{sample.megabytes[name]:.1f}" for sample in samples) + " MB",
        )
        for name in ("api", "worker")
    ]
    for what in ("create", "cycle"):
        p99s = [float(getattr(sample.tenth, f"{what}_p99")) for sample in samples]
        p50 = getattr(last.tenth, f"{what}_p50")
        figures.append(
            Figure(
                f"p99 of a {what}, last tenth against the first",
                p99s[-1] / p99s[0],
                "×",
                1.2,
                at_least=False,
                note=f"{p99s[0]:.0f} ms, then {p99s[-1]:.0f} ms (p50 {p50:.0f} ms)",
            )
        )
    grown = last.database_megabytes - first.database_megabytes
    note = (
        f"the first tenth {first.tenth.per_second:.1f}/s; the database grew by {grown:.0f} MB in the other nine tenths;"
        f" {sum(sample.tenth.repeated for sample in samples)} requests were sent again"
    )
    figures.append(Figure("cycles a second, last tenth", last.tenth.per_second, "/s", note=note))
    return figures
