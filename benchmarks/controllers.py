"""Measures what one controller process costs that serves a thousand instances and reports their health."""

import subprocess
import threading
import time
from dataclasses import dataclass, field

from benchmarks.crowd import deployed, seed
from benchmarks.database import superuser
from benchmarks.figures import Figure, Size
from benchmarks.operations import controller
from benchmarks.processes import cpu_seconds, family, resident_megabytes
from gpuaas_sdk.testing import CatalogApp, RunningServer, Sandbox

INSTANCES, MEMBERS, EVENTS, PAUSE = 1_000, 4, 2, 30.0
HOW = f"""\
A real server (api, worker, embedded PostgreSQL) and one controller made with the SDK in a process of its own, on one
machine. {INSTANCES:,} instances of {MEMBERS} members run; one was deployed for real on a simulated node, SQL has copied it. The
controller has its long poll and its heartbeats, checks each instance, finds it healthy and reports that over the API;
{PAUSE:.0f} s after a round it begins the next. CPU and memory are the controller's own from the second round on, in percent of
one core and as its resident set; the server's CPU (api, worker, PostgreSQL) is in the note. A round is the time from its
first check to its last."""
ROUND_SECONDS = 300.0  # after which a round is given up


@dataclass
class Checks:
    """The checks that a controller has printed, in the order in which they came."""

    at: list[float] = field(default_factory=list)
    instances: set[str] = field(default_factory=set)

    def read(self, process: "subprocess.Popen[str]") -> None:
        for line in process.stdout or ():
            instance, at = line.split()
            self.instances.add(instance)
            self.at.append(float(at))

    def wait(self, count: int) -> None:
        deadline = time.monotonic() + ROUND_SECONDS
        while len(self.at) < count:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{len(self.at)} of {count} checks were made in {ROUND_SECONDS:.0f} s")
            time.sleep(0.05)


@dataclass(frozen=True, slots=True)
class Cost:
    cpu: float  # percent of one core
    server_cpu: float
    megabytes: float
    round_seconds: float
    instances: int


def measure(instances: int, pause: float, rounds: int) -> Cost:
    with RunningServer.start(log_level="WARNING", node_lost_seconds="86400", token_minutes="60") as server:
        sandbox = Sandbox.create(server)
        sandbox.offer()
        model = deployed(sandbox)
        with superuser(server) as connection:
            project = sandbox.project_id
            copies = instances - 1  # the model is served too
            seed(connection, sandbox, model, project, copies, quiet=copies, members=MEMBERS, events=EVENTS)
        settings = CatalogApp(sandbox, "waiting").controller()
        program = ["benchmarks.health_reporter", "waiting", str(pause)]
        with controller(settings, program, server) as process:
            return _measured(server, process, instances, rounds)


def _measured(server: RunningServer, process: "subprocess.Popen[str]", instances: int, rounds: int) -> Cost:
    checks = Checks()
    threading.Thread(target=checks.read, args=(process,), daemon=True).start()
    checks.wait(instances)
    begun, own, servers = time.monotonic(), cpu_seconds([process.pid]), cpu_seconds(family(server.process.pid))
    checks.wait(instances * (1 + rounds))
    taken = time.monotonic() - begun
    if len(checks.instances) != instances:
        raise RuntimeError(f"{len(checks.instances)} of {instances} instances were checked")
    last = checks.at[-instances:]
    return Cost(
        (cpu_seconds([process.pid]) - own) / taken * 100,
        (cpu_seconds(family(server.process.pid)) - servers) / taken * 100,
        resident_megabytes(process.pid),
        last[-1] - last[0],
        instances,
    )


def run(size: Size) -> list[Figure]:
    cost = measure(20, 0.5, 2) if size.quick else measure(INSTANCES, PAUSE, 3)
    served = f"a controller process that serves {cost.instances:,} instances"
    note = f"a round of health reports takes {cost.round_seconds:.1f} s; CPU of the server meanwhile {cost.server_cpu:.1f} %"
    return [
        Figure(f"CPU of {served}", cost.cpu, "%", note=note),
        Figure(f"memory of {served}", cost.megabytes, "MB"),
    ]
