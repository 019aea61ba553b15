"""The health of a cluster, from Slurm's JSON: the head node serves states and counts to clients with the status key."""

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
from gpuaas_slurm.scheduler import Node, parse_node
from gpuaas_slurm.usage import FROM, EndedJobs, next_position, parse_ended_jobs, usage_position

SECONDS = 10.0
LIMIT = 8 << 20
IDLE_STATUSES = (
    "drained",
    "draining",
    "removing",
    "pending",
    "joining",
)  # members whose nodes are out of use on purpose


@dataclass(frozen=True, slots=True)
class Status:
    version: str
    answers: bool
    nodes: Mapping[str, Node]
    jobs: Mapping[str, int]
    usage: Mapping[str, object] | None
    ended: EndedJobs | None = None


async def fetch_status(address: str, key: str | None, ended_since: int | None = None) -> Status | str:
    """Returns the status of the cluster, or why there is none. With `ended_since`, it includes jobs that ended since then.

    A cluster of an older release asks for no proof and answers immediately.
    """
    try:
        async with asyncio.timeout(SECONDS):
            reader, writer = await asyncio.open_connection(address, layout.STATUS_PORT, limit=LIMIT)
            with closing(writer):
                document = json.loads(await reader.readline())
                if "nonce" in document:
                    writer.write(proof(key or "", str(document["nonce"]), ended_since))
                    document = json.loads(await reader.readline())
    except (OSError, TimeoutError, ValueError) as error:
        return f"{address}:{layout.STATUS_PORT} does not answer: {type(error).__name__}"
    if "refused" in document:
        return f"{address}:{layout.STATUS_PORT} refuses the status key: reconcile the cluster"
    return parse_status(document)


def proof(key: str, nonce: str, ended_since: int | None) -> bytes:
    """Returns the line that authenticates to the status program."""
    mac = hmac.new(key.encode(), nonce.encode(), hashlib.sha256).hexdigest()
    return f"{mac} since {ended_since}\n".encode() if ended_since is not None else f"{mac}\n".encode()


def parse_status(document: Mapping[str, object]) -> Status:
    nodes, jobs, usage = document.get("nodes"), document.get("jobs"), document.get("usage")
    found = [parse_node(one) for one in nodes if isinstance(one, dict)] if isinstance(nodes, list) else []
    return Status(
        version=str(document.get("version") or ""),
        answers=document.get("answers") is True,
        nodes={one.name: one for one in found},
        jobs=jobs if isinstance(jobs, dict) else {},
        usage=usage if isinstance(usage, dict) else None,
        ended=parse_ended_jobs(document.get("ended")),
    )


def assess_health(members: Sequence[InstanceMember], status: Status | str) -> Health:
    """Assesses health. Without an answering controller, workers are unknown: they may well be running. Pure."""
    health = Health()
    problem = status if isinstance(status, str) else None if status.answers else "slurmctld does not answer"
    for member in members:
        if member.component_key == "controller":
            health.add_member(member, problem)
        elif isinstance(status, Status) and status.answers and member.status not in IDLE_STATUSES:
            health.add_member(member, problem_of(member, status.nodes.get(layout.node_name(member.ordinal))))
    if problem is not None:
        health.status = "unhealthy"
    return health


def updated_runtime(runtime: Mapping[str, object], status: Status | str) -> dict[str, object] | None:
    """Returns the runtime with the daemon's version and the current usage of the accounts, or None when nothing is new.
    Counts only grow, so repeating this adds nothing. Pure.
    """
    if isinstance(status, str):
        return None
    updated: dict[str, object] = dict(runtime)
    if status.version:
        updated["runtime_version"] = status.version
    if status.usage is not None:
        updated["usage"] = dict(status.usage)
    if status.ended is not None and status.ended.jobs:
        updated[FROM] = next_position(usage_position(runtime), status.ended)
    return updated if updated != runtime else None


def problem_of(member: InstanceMember, node: Node | None) -> str | None:
    name = layout.node_name(member.ordinal)
    if node is None:
        return f"{name} is not in the cluster"
    if node.usable:
        return None
    flags = "+".join(sorted(node.flags - {"DYNAMIC_NORM"}))
    return " ".join(part for part in (f"{name} is {node.state}", flags, node.reason) if part)
