"""`gpuaas-server up` on an initialised data directory: time to the first healthy answer, memory and CPU at rest."""

import time
from statistics import median

from benchmarks.figures import Figure, Size
from benchmarks.processes import cpu_seconds, family, own_megabytes, resident_megabytes
from gpuaas_sdk.testing import Sandbox
from system_support.server import RunningServer

APPS = ("containers", "echo")  # they need nothing that is built or fetched first
PROVIDER = "gpuaas_sdk.platform_apps"
GIVE_UP_SECONDS = 120.0
HOW = f"""\
`gpuaas-server up` (supervisor, embedded PostgreSQL, one api, one worker) on a data directory that was initialised before;
time from the start of the process to the first 200 of /readyz, median of the rounds, polled every 50 ms. Memory: resident
set of api and worker together, shared pages counted in each. CPU: user and system time of api, worker, supervisor and
PostgreSQL together while nobody calls, in percent of one core. For scale: dstack's server takes 6 s, 211 MB, 1.3 %.
With the platform's own apps: the same once their provider and controllers ({" and ".join(APPS)}) run, which are counted too;
their memory is that of provider and controllers alone."""


def run(size: Size) -> list[Figure]:
    return [*_alone(size), *_with_apps(size)]


def _alone(size: Size) -> list[Figure]:
    with RunningServer.start() as server:
        starts = []
        for _ in range(size.rounds):
            server.stop()
            begun = time.monotonic()
            server.restart()
            starts.append(time.monotonic() - begun)
        used = _idle_cpu(server, size)
        parts = server.children("api") + server.children("worker")
        memory, private = sum(map(resident_megabytes, parts)), sum(map(own_megabytes, parts))
    return [
        Figure("first healthy answer after `up`", median(starts), "s", 3.0, at_least=False),
        Figure("resident memory of api and worker", memory, "MB", 250.0, False, f"{private:.0f} MB of it their own"),
        Figure("idle CPU, of one core", used, "%", 1.0, at_least=False),
    ]


def _with_apps(size: Size) -> list[Figure]:
    with RunningServer.start(platform_apps=",".join(APPS)) as server:
        _await_apps(Sandbox.create(server))
        used = _idle_cpu(server, size)
        programs = [pid for provider in server.children(PROVIDER) for pid in family(provider)]
        memory, private = sum(map(resident_megabytes, programs)), sum(map(own_megabytes, programs))
    note = f"{len(programs)} processes, {private:.0f} MB their own"
    return [
        Figure("idle CPU with the platform's own apps, of one core", used, "%"),
        Figure("resident memory of the provider of apps and its controllers", memory, "MB", note=note),
    ]


def _await_apps(sandbox: Sandbox) -> None:
    deadline = time.monotonic() + GIVE_UP_SECONDS
    states: dict[str, str] = {}
    while time.monotonic() < deadline:
        states = {app.name: app.state for app in sandbox.admin.provided_apps.list(sandbox.project_id)}
        if [states.get(name) for name in APPS] == ["provided"] * len(APPS):
            return
        time.sleep(0.2)
    raise RuntimeError(f"the apps are not provided: {states}")


def _idle_cpu(server: RunningServer, size: Size) -> float:
    """Return the percent of one core that everything together takes while nobody calls."""
    time.sleep(0.5 if size.quick else 5.0)  # what start-up set off has ended
    everything = family(server.process.pid)
    before, begun = cpu_seconds(everything), time.monotonic()
    time.sleep(size.idle_seconds)
    return (cpu_seconds(everything) - before) / (time.monotonic() - begun) * 100
