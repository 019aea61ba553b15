"""`gpuaas-server up` on an initialised data directory: time to the first healthy answer, memory and CPU at rest."""

import time
from statistics import median

from benchmarks.figures import Figure, Size
from benchmarks.processes import cpu_seconds, family, own_megabytes, resident_megabytes
from system_support.server import RunningServer

HOW = """\
`gpuaas-server up` (supervisor, embedded PostgreSQL, one api, one worker) on a data directory that was initialised before;
time from the start of the process to the first 200 of /readyz, median of the rounds, polled every 50 ms. Memory: resident
set of api and worker together, shared pages counted in each. CPU: user and system time of api, worker, supervisor and
PostgreSQL together while nobody calls, in percent of one core. For scale: dstack's server takes 6 s, 211 MB, 1.3 %."""


def run(size: Size) -> list[Figure]:
    with RunningServer.start() as server:
        starts = []
        for _ in range(size.rounds):
            server.stop()
            begun = time.monotonic()
            server.restart()
            starts.append(time.monotonic() - begun)
        time.sleep(0.5 if size.quick else 5.0)  # what start-up set off has ended
        parts = server.children("api") + server.children("worker")
        everything = family(server.process.pid)
        before, begun = cpu_seconds(everything), time.monotonic()
        time.sleep(size.idle_seconds)
        used = (cpu_seconds(everything) - before) / (time.monotonic() - begun)
        memory, private = sum(map(resident_megabytes, parts)), sum(map(own_megabytes, parts))
    return [
        Figure("first healthy answer after `up`", median(starts), "s", 3.0, at_least=False),
        Figure("resident memory of api and worker", memory, "MB", 250.0, False, f"{private:.0f} MB of it their own"),
        Figure("idle CPU, of one core", used * 100, "%", 1.0, at_least=False),
    ]
