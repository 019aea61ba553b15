"""How a cluster is, from Slurm's own JSON: its controller's host tells states and counts to whoever knows its key."""

import asyncio
import hashlib
import hmac
import json
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass

from gpuaas_sdk import InstanceMember
from gpuaas_sdk.controller import Health
from gpuaas_slurm import layout
from gpuaas_slurm.scheduler import Node, node_of
from gpuaas_slurm.usage import FROM, Ended, ended_of, next_look, since

SECONDS = 10.0
LIMIT = 8 << 20
RESTING = ("drained", "draining", "removing", "pending", "joining")  # whose nodes are not in use, by somebody's wish


@dataclass(frozen=True, slots=True)
class Status:
    version: str
    answers: bool
    nodes: Mapping[str, Node]
    jobs: Mapping[str, int]
    usage: Mapping[str, object] | None
    ended: Ended | None = None


async def status_at(address: str, key: str | None, asked: int | None = None) -> Status | str:
    """What the cluster says, or why it says nothing; asked for them, with the jobs that have ended since then.

    One that was deployed by an older release asks for no proof, and answers at once.
    """
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(address, layout.STATUS_PORT, limit=LIMIT)
            with closing(writer):
                told = json.loads(await reader.readline())
                if "nonce" in told:
                    writer.write(proof(key or "", str(told["nonce"]), asked))
                    told = json.loads(await reader.readline())
    except (OSError, TimeoutError, ValueError) as error:
        return f"{address}:{layout.STATUS_PORT} does not tell: {type(error).__name__}"
    if "refused" in told:
        return f"{address}:{layout.STATUS_PORT} does not believe us: reconcile the cluster"
    return status_of(told)


def proof(key: str, nonce: str, asked: int | None) -> bytes:
    """The line that the status program waits for."""
    mac = hmac.new(key.encode(), nonce.encode(), hashlib.sha256).hexdigest()
    return f"{mac} since {asked}\n".encode() if asked is not None else f"{mac}\n".encode()


def status_of(told: Mapping[str, object]) -> Status:
    nodes, jobs, usage = told.get("nodes"), told.get("jobs"), told.get("usage")
    found = [node_of(one) for one in nodes if isinstance(one, dict)] if isinstance(nodes, list) else []
    return Status(
        version=str(told.get("version") or ""),
        answers=told.get("answers") is True,
        nodes={one.name: one for one in found},
        jobs=jobs if isinstance(jobs, dict) else {},
        usage=usage if isinstance(usage, dict) else None,
        ended=ended_of(told.get("ended")),
    )


def judge(members: Sequence[InstanceMember], status: Status | str) -> Health:
    """Pure. Without an answering controller nothing can be said of the workers: they may well go on."""
    health = Health()
    silent = status if isinstance(status, str) else None if status.answers else "slurmctld does not answer"
    for member in members:
        if member.component_key == "controller":
            health.add_member(member, silent)
        elif isinstance(status, Status) and status.answers and member.status not in RESTING:
            health.add_member(member, problem_of(member, status.nodes.get(layout.node_name(member.ordinal))))
    if silent is not None:
        health.status = "unhealthy"
    return health


def counted(runtime: Mapping[str, object], status: Status | str) -> dict[str, object] | None:
    """Pure. The runtime with what the accounts have used by now: counts that only grow, so that a repetition adds nothing.
    None: nothing new.
    """
    if isinstance(status, str) or status.usage is None:
        return None
    counts: dict[str, object] = {**runtime, "usage": dict(status.usage)}
    if status.ended is not None and status.ended.jobs:
        counts[FROM] = next_look(since(runtime), status.ended)
    return counts if counts != runtime else None


def problem_of(member: InstanceMember, node: Node | None) -> str | None:
    name = layout.node_name(member.ordinal)
    if node is None:
        return f"{name} is not in the cluster"
    if node.usable:
        return None
    flags = "+".join(sorted(node.flags - {"DYNAMIC_NORM"}))
    return " ".join(part for part in (f"{name} is {node.state}", flags, node.reason) if part)
