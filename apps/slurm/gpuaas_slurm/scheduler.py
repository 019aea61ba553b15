"""Controls a running cluster with Slurm's commands on the head node."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_sdk.controller import Failed, Host
from gpuaas_slurm.hostside import run_program

COMMAND_SECONDS = 30.0
QUEUE_FORMAT = "%A|%T|%n|%D|%b|%o"
_GPUS = re.compile(r"\bgpu(?::[a-z][a-z0-9_]*)?[:=](\d+)")
_HOSTS = re.compile(r"([^\[\],]+)(?:\[([^\]]*)\])?")


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    state: str
    flags: frozenset[str]
    reason: str
    gpus: int = 0

    @property
    def usable(self) -> bool:
        wrong = {"DRAIN", "NOT_RESPONDING", "FAIL", "INVALID_REG", "MAINTENANCE"}
        return self.state in ("idle", "mixed", "allocated") and not self.flags & wrong


@dataclass(frozen=True, slots=True)
class Job:
    number: str
    state: str
    only_on: frozenset[str]  # nodes that it requests by name
    batch: bool
    nodes: int = 1  # how many it needs
    gpus: int = 0  # on each of them


def parse_node(document: dict[str, object]) -> Node:
    flags = document.get("state_flags")
    return Node(
        name=str(document.get("name", "")),
        state=str(document.get("state", "")).lower(),
        flags=frozenset(str(one) for one in flags) if isinstance(flags, list) else frozenset(),
        reason=str(document.get("reason") or ""),
        gpus=count_gpus(str(document.get("gres") or "")),
    )


def parse_job(line: str) -> Job:
    """Parses a line of QUEUE_FORMAT. A job without a command is interactive and cannot be requeued."""
    number, state, wanted, nodes, gres, command = line.split("|", 5)
    least = re.match(r"\d+", nodes)
    return Job(
        number, state, expand_hostlist(wanted), bool(command.strip()), int(least[0]) if least else 1, count_gpus(gres)
    )


def count_gpus(gres: str) -> int:
    """Reads `gpu:h100:8` of a node and `gres:gpu:2` of a job."""
    return sum(int(found) for found in _GPUS.findall(gres))


def expand_hostlist(hostlist: str) -> frozenset[str]:
    """Returns the names in a host list of Slurm: `w[1-3,7],w12` has five."""
    names: set[str] = set()
    for stem, ranges in _HOSTS.findall(hostlist):
        if not ranges:
            names.add(stem)
        for part in filter(None, ranges.split(",")):
            first, _, last = part.partition("-")
            names |= {f"{stem}{number:0{len(first)}d}" for number in range(int(first), int(last or first) + 1)}
    return frozenset(names)


class Scheduler:
    def __init__(self, host: Host) -> None:
        self._host = host

    async def is_up(self) -> bool:
        return " is UP" in (await self._host.sudo(["scontrol", "ping"], check=False, timeout=COMMAND_SECONDS)).out

    async def nodes(self) -> dict[str, Node]:
        shown = await self._host.sudo(["sinfo", "--json"], timeout=COMMAND_SECONDS)
        listed = json.loads(shown.out).get("nodes", [])
        return {one.name: one for one in (parse_node(entry) for entry in listed)}

    async def jobs(self, states: str, node: str | None = None) -> list[Job]:
        where = [] if node is None else ["-w", node]
        shown = await self._host.sudo(
            ["squeue", "-h", "-t", states, *where, "-o", QUEUE_FORMAT], timeout=COMMAND_SECONDS
        )
        return [parse_job(line) for line in shown.out.splitlines() if line.strip()]

    async def wait_until_idle(self, node: str, seconds: float) -> str:
        """Waits until no job runs on the node, at most so many seconds. Returns what still runs, or an empty text."""
        request = {"node": node, "seconds": seconds}
        return str((await run_program(self._host, "wait_idle", request, timeout=seconds + COMMAND_SECONDS))["left"])

    async def drain(self, node: str, reason: str) -> None:
        await self._update(node, "state=drain", f"reason={reason}")

    async def delete_node(self, node: str) -> None:
        """Deletes a node if it exists. Slurm refuses for a moment while jobs on it are still ending."""
        for _ in range(100):
            if node not in await self.nodes():
                return
            done = await self._host.sudo(["scontrol", "delete", f"nodename={node}"], check=False)
            if done.ok:
                return
            await asyncio.sleep(0.2)
        why = f"{node} cannot be deleted: {done.err.strip()[-200:]}"
        raise Failed("node_busy", why, next_step="Check the jobs on it, then try again.", retryable=True)

    async def requeue(self, jobs: Sequence[Job]) -> None:
        """Requeues batch jobs and cancels jobs that cannot be requeued."""
        batch = [job.number for job in jobs if job.batch]
        if batch:
            await self._host.sudo(["scontrol", "requeue", ",".join(batch)], check=False)
        await self.cancel([job for job in jobs if not job.batch])

    async def cancel(self, jobs: Sequence[Job]) -> None:
        if jobs:
            await self._host.sudo(["scancel", "--full", *(job.number for job in jobs)], check=False)

    async def cancel_all(self) -> list[str]:
        """Cancels all jobs of all users and waits for their end. Returns the jobs that did not end in time."""
        left: list[str] = []
        for _ in range(60):
            shown = await self._host.sudo(["squeue", "-h", "-o", "%A"], check=False)
            left = list(dict.fromkeys(shown.out.split()))
            if not left:
                break
            await self._host.sudo(["scancel", "--full", *left], check=False)
            await asyncio.sleep(0.25)
        return left

    async def set_partition_state(self, names: Sequence[str], state: str) -> None:
        for name in names:
            await self._host.sudo(["scontrol", "update", f"partitionname={name}", f"state={state}"], check=False)

    async def _update(self, node: str, *words: str) -> None:
        await self._host.sudo(["scontrol", "update", f"nodename={node}", *words])
