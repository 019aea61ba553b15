"""Ten thousand agents in long polls: what they cost an api process, and how fast a new task is in an agent's hands."""

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from rich.console import Console

from benchmarks import REPOSITORY
from benchmarks.agents import AgentOrder
from benchmarks.database import socket_dir
from benchmarks.figures import Figure, Size
from benchmarks.processes import cpu_seconds, resident_megabytes
from gpuaas_agent.sim.fleet import raise_file_limit
from system_support.server import RunningServer, free_port

HOW = """\
Simulated agents (the real protocol: signed calls, 30 s long polls, heartbeats, signed tasks, results) on loopback HTTP in
processes of their own on the same machine; all enrol over the API first. Then 200 tasks a second for 20 s to random nodes,
written through `nodes.tasks.task_create` by a process that serves no agent, so that every wake-up crosses processes.
Delay: from just before the COMMIT of the task to the answer of the poll in the agent, before it verifies the signature.
With two replicas each serves half of the agents on a port of its own. CPU is the api's own, in percent of one core,
while agents only poll; memory is its resident set."""
ENROL_SECONDS = 60.0
STRAGGLER_SECONDS = 5.0
_say = Console(stderr=True).log


@dataclass(slots=True)
class Agents:
    process: subprocess.Popen[bytes]
    nodes: list[str]

    def receipts(self) -> dict[str, float]:
        out, _ = self.process.communicate(timeout=120)
        found: dict[str, float] = json.loads(out)
        return found


@contextmanager
def second_replica(server: RunningServer) -> Iterator[str]:
    url = f"http://127.0.0.1:{free_port()}"
    environment = {**_environment(server), "GPUAAS_HTTP_BIND": url.removeprefix("http://")}
    process = subprocess.Popen([sys.executable, "-m", "gpuaas_server.main", "api"], env=environment, cwd=REPOSITORY)
    try:
        RunningServer(process, server.directory, url, server.log_file).wait_ready()
        yield url
    finally:
        process.terminate()
        process.wait(30)


def _environment(server: RunningServer) -> dict[str, str]:
    """What a process beside `up` needs: the same keys and the same database."""
    return {**server.environment, "GPUAAS_DATABASE_URL": f"postgresql://gpuaas@/gpuaas?host={socket_dir(server)}"}


@contextmanager
def enrolled_agents(server: RunningServer, url: str, count: int, first_index: int) -> Iterator[Agents]:
    token = server.admin().enrolment_tokens.create(note="benchmark", max_uses=count)
    order = AgentOrder(url, token.bundle or "", count, first_index)
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.agents"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=REPOSITORY,
    )
    assert process.stdin is not None
    assert process.stderr is not None
    try:
        process.stdin.write(order.line())
        process.stdin.flush()
        yield Agents(process, _until_ready(process, count))
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(10)


def _until_ready(process: subprocess.Popen[bytes], count: int) -> list[str]:
    assert process.stderr is not None
    deadline = time.monotonic() + ENROL_SECONDS + count / 20
    for number, line in enumerate(process.stderr):
        word, _, rest = line.decode().partition(" ")
        if word == "ready":
            found: list[str] = json.loads(rest)
            return found
        if word == "enrolled" and number % 15 == 14:
            _say(f"{rest.strip()} of {count} agents enrolled")
        if time.monotonic() > deadline:
            raise RuntimeError(f"only {rest.strip()} of {count} agents enrolled in time")
    raise RuntimeError("the simulated agents ended")


def _write_tasks(server: RunningServer, nodes: list[str], size: Size) -> dict[str, float]:
    order = {"nodes": nodes, "rate": size.task_rate, "seconds": size.task_seconds}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.task_writer"],
        input=json.dumps(order).encode() + b"\n",
        stdout=subprocess.PIPE,
        env=_environment(server),
        cwd=REPOSITORY,
        check=True,
    )
    written: dict[str, float] = json.loads(done.stdout)
    return written


def measure(size: Size, replicas: int) -> list[Figure]:
    raise_file_limit(size.agents * 2 + 4096)  # inherited by the server and the agents
    with ExitStack() as stack:
        server = stack.enter_context(RunningServer.start(log_level="WARNING", pool_size="16"))
        urls = [server.url, *(stack.enter_context(second_replica(server)) for _ in range(replicas - 1))]
        share = size.agents // replicas
        begun = time.monotonic()
        fleets = [
            stack.enter_context(enrolled_agents(server, url, share, number * share)) for number, url in enumerate(urls)
        ]
        _say(f"{size.agents} agents enrolled in {time.monotonic() - begun:.0f} s")
        api = server.children("api")[0]
        time.sleep(1 if size.quick else 35)  # every agent polls, and the polls are spread over their 30 s
        cpu, memory = _resting(api, 0.5 if size.quick else 15), resident_megabytes(api)
        written = _write_tasks(server, [node for fleet in fleets for node in fleet.nodes], size)
        time.sleep(STRAGGLER_SECONDS)  # a task that comes late counts with its delay; one that never comes is a fault
        received = {task: at for fleet in fleets for task, at in fleet.receipts().items()}
    return _figures(replicas, share, cpu, memory, written, received)


def _resting(api: int, seconds: float) -> float:
    before = cpu_seconds([api])
    time.sleep(seconds)
    return (cpu_seconds([api]) - before) / seconds * 100


def _figures(
    replicas: int, share: int, cpu: float, memory: float, written: dict[str, float], received: dict[str, float]
) -> list[Figure]:
    delays = sorted((received[task] - at) * 1000 for task, at in written.items() if task in received)
    lost = len(written) - len(delays)
    if lost:
        raise RuntimeError(f"{lost} of {len(written)} tasks reached no agent")
    label = "1 api" if replicas == 1 else f"{replicas} replicas"
    p50, p99 = delays[len(delays) // 2], delays[min(len(delays) - 1, int(len(delays) * 0.99))]
    note = f"p50 {p50:.1f} ms, worst {delays[-1]:.0f} ms, {len(delays)} tasks"
    return [
        Figure(f"task to agent, p99, {label}", p99, "ms", 250.0, at_least=False, note=note),
        Figure(f"CPU of an api with {share} polling agents, {label}", cpu, "%"),
        Figure(f"memory of an api with {share} polling agents, {label}", memory, "MB"),
    ]


def run(size: Size) -> list[Figure]:
    return [figure for replicas in (1, 2) for figure in measure(size, replicas)]
