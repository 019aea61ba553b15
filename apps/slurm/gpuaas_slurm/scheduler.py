"""What is asked of a running cluster, by Slurm's own commands on its controller's host."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_sdk.controller import Failed, Host

LONGEST = 30.0


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    state: str
    flags: frozenset[str]
    reason: str
    busy_cpus: int

    @property
    def drained(self) -> bool:
        return "DRAIN" in self.flags and self.quiet

    @property
    def quiet(self) -> bool:
        return self.busy_cpus == 0 and "COMPLETING" not in self.flags and self.state not in ("allocated", "mixed")

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


def node_of(document: dict[str, object]) -> Node:
    flags, busy = document.get("state_flags"), document.get("alloc_cpus")
    return Node(
        name=str(document.get("name", "")),
        state=str(document.get("state", "")).lower(),
        flags=frozenset(str(one) for one in flags) if isinstance(flags, list) else frozenset(),
        reason=str(document.get("reason") or ""),
        busy_cpus=busy if isinstance(busy, int) else 0,
    )


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
        form = "%A|%T|%n|%B"
        shown = await self._host.sudo(["squeue", "-h", "-t", states, *where, "-o", form], timeout=LONGEST)
        batch = await self._batch(where, states)
        return [await self._job(line, batch) for line in shown.out.splitlines() if line.strip()]

    async def _batch(self, where: Sequence[str], states: str) -> frozenset[str]:
        """Those that can be queued again: an interactive one has lost its person."""
        shown = await self._host.sudo(["squeue", "-h", "-t", states, *where, "-o", "%A %o"], timeout=LONGEST)
        return frozenset(number for number, _, command in (x.partition(" ") for x in shown.out.splitlines()) if command)

    async def _job(self, line: str, batch: frozenset[str]) -> Job:
        number, state, wanted, _ = line.split("|")
        return Job(number, state, await self._expanded(wanted), number in batch)

    async def _expanded(self, hostlist: str) -> frozenset[str]:
        if not hostlist:
            return frozenset()
        if "[" not in hostlist:
            return frozenset(hostlist.split(","))
        shown = await self._host.sudo(["scontrol", "show", "hostnames", hostlist])
        return frozenset(shown.out.split())

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
        raise Failed("node_busy", f"{node} cannot be deleted: {done.err.strip()[-200:]}", retryable=True)

    async def requeue(self, jobs: Sequence[Job]) -> None:
        """Batch jobs begin again elsewhere; what cannot be queued again ends."""
        again = [job.number for job in jobs if job.batch]
        if again:
            await self._host.sudo(["scontrol", "requeue", ",".join(again)], check=False)
        await self.cancel([job for job in jobs if not job.batch])

    async def cancel(self, jobs: Sequence[Job]) -> None:
        if jobs:
            await self._host.sudo(["scancel", "--full", *(job.number for job in jobs)], check=False)

    async def cancel_all(self) -> None:
        """Every job of everybody, and until they are gone: steps first get a moment to end by themselves."""
        for _ in range(60):
            left = (await self._host.sudo(["squeue", "-h", "-o", "%A"], check=False)).out.split()
            if not left:
                return
            await self._host.sudo(["scancel", "--full", *dict.fromkeys(left)], check=False)
            await asyncio.sleep(0.25)

    async def partition_state(self, names: Sequence[str], state: str) -> None:
        for name in names:
            await self._host.sudo(["scontrol", "update", f"partitionname={name}", f"state={state}"], check=False)

    async def _update(self, node: str, *words: str) -> None:
        await self._host.sudo(["scontrol", "update", f"nodename={node}", *words])
