"""What is asked of a running cluster, by Slurm's own commands on its controller's host."""

import asyncio
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_sdk.controller import Failed, Host
from gpuaas_slurm.hostside import ask

LONGEST = 30.0
QUEUE = "%A|%T|%n|%D|%b|%o"
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
    only_on: frozenset[str]  # nodes that it asked for by name
    batch: bool
    nodes: int = 1  # how many it needs at once
    gpus: int = 0  # that each of them must have


def node_of(document: dict[str, object]) -> Node:
    flags = document.get("state_flags")
    return Node(
        name=str(document.get("name", "")),
        state=str(document.get("state", "")).lower(),
        flags=frozenset(str(one) for one in flags) if isinstance(flags, list) else frozenset(),
        reason=str(document.get("reason") or ""),
        gpus=gpus_in(str(document.get("gres") or "")),
    )


def job_of(line: str) -> Job:
    """Of QUEUE. What has no command can not be queued again: an interactive one has lost its person."""
    number, state, wanted, nodes, gres, command = line.split("|", 5)
    least = re.match(r"\d+", nodes)
    return Job(number, state, expanded(wanted), bool(command.strip()), int(least[0]) if least else 1, gpus_in(gres))


def gpus_in(gres: str) -> int:
    """`gpu:h100:8` of a node, `gres:gpu:2` of a job."""
    return sum(int(found) for found in _GPUS.findall(gres))


def expanded(hostlist: str) -> frozenset[str]:
    """The names that a list of Slurm's stands for: `w[1-3,7],w12` is five of them."""
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

    async def answers(self) -> bool:
        return " is UP" in (await self._host.sudo(["scontrol", "ping"], check=False, timeout=LONGEST)).out

    async def nodes(self) -> dict[str, Node]:
        shown = await self._host.sudo(["sinfo", "--json"], timeout=LONGEST)
        listed = json.loads(shown.out).get("nodes", [])
        return {one.name: one for one in (node_of(entry) for entry in listed)}

    async def jobs(self, states: str, node: str | None = None) -> list[Job]:
        where = [] if node is None else ["-w", node]
        shown = await self._host.sudo(["squeue", "-h", "-t", states, *where, "-o", QUEUE], timeout=LONGEST)
        return [job_of(line) for line in shown.out.splitlines() if line.strip()]

    async def left_on(self, node: str, seconds: float) -> str:
        """What still runs on it, in words, after so long at the most; empty as soon as nothing does."""
        told = {"node": node, "seconds": seconds}
        return str((await ask(self._host, "quiet", told, timeout=seconds + LONGEST))["left"])

    async def drain(self, node: str, reason: str) -> None:
        await self._update(node, "state=drain", f"reason={reason}")

    async def forget(self, node: str) -> None:
        """A node that is not there is forgotten already. One that still ends its jobs refuses for a moment."""
        for _ in range(100):
            if node not in await self.nodes():
                return
            done = await self._host.sudo(["scontrol", "delete", f"nodename={node}"], check=False)
            if done.ok:
                return
            await asyncio.sleep(0.2)
        why = f"{node} cannot be deleted: {done.err.strip()[-200:]}"
        raise Failed("node_busy", why, next_step="Look at the jobs on it, then ask again.", retryable=True)

    async def requeue(self, jobs: Sequence[Job]) -> None:
        """Batch jobs begin again elsewhere; what cannot be queued again ends."""
        again = [job.number for job in jobs if job.batch]
        if again:
            await self._host.sudo(["scontrol", "requeue", ",".join(again)], check=False)
        await self.cancel([job for job in jobs if not job.batch])

    async def cancel(self, jobs: Sequence[Job]) -> None:
        if jobs:
            await self._host.sudo(["scancel", "--full", *(job.number for job in jobs)], check=False)

    async def cancel_all(self) -> list[str]:
        """Every job of everybody, and until they are gone: steps first get a moment to end by themselves.

        Those that did not: whoever asks takes their hosts away from under them, and should say so.
        """
        left: list[str] = []
        for _ in range(60):
            shown = await self._host.sudo(["squeue", "-h", "-o", "%A"], check=False)
            left = list(dict.fromkeys(shown.out.split()))
            if not left:
                break
            await self._host.sudo(["scancel", "--full", *left], check=False)
            await asyncio.sleep(0.25)
        return left

    async def partition_state(self, names: Sequence[str], state: str) -> None:
        for name in names:
            await self._host.sudo(["scontrol", "update", f"partitionname={name}", f"state={state}"], check=False)

    async def _update(self, node: str, *words: str) -> None:
        await self._host.sudo(["scontrol", "update", f"nodename={node}", *words])
