"""Requests to a cluster's head node that operations of this process make together."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuaas_sdk.controller import Failed, Host
from gpuaas_slurm import layout
from gpuaas_slurm.batcher import RequestBatcher
from gpuaas_slurm.facts import Facts, parse_facts
from gpuaas_slurm.hostside import run_program, run_programs
from gpuaas_slurm.shared_connections import SharedConnections

HostEntry = tuple[str, str]  # an address and the name of the node there
JoinCheck = tuple[bool, str]  # whether the node has joined, and its last known state


@dataclass(frozen=True, slots=True)
class HeadState:
    facts: Facts
    key: str = field(repr=False)  # the munge key in base64; empty where the host has none


@dataclass
class HeadRequests:
    """Batches the requests of each cluster, by instance id, over connections that operations share."""

    connections: SharedConnections = field(default_factory=SharedConnections)
    state: RequestBatcher[None, HeadState] = field(default_factory=RequestBatcher)
    host_entries: RequestBatcher[HostEntry, None] = field(default_factory=RequestBatcher)
    joined: RequestBatcher[str, JoinCheck] = field(default_factory=RequestBatcher)
    proven: RequestBatcher[Sequence[str], Failed | None] = field(default_factory=RequestBatcher)


async def read_head_state(host: Host) -> HeadState:
    facts, key = await run_programs(host, ("facts", {"versions": True}), ("key", {"path": layout.MUNGE_KEY}))
    return HeadState(parse_facts(facts), str(key["key"]))


async def add_host_entries(host: Host, entries: Sequence[HostEntry]) -> None:
    names = {address: [name] for address, name in entries}
    await run_program(host, "hosts_file", {"mark": layout.HOSTS_MARK, "names": names})


async def check_joined(host: Host, nodes: Sequence[str], seconds: float) -> list[JoinCheck]:
    answer = await run_program(host, "wait_joined", {"nodes": sorted(set(nodes)), "seconds": seconds})
    joined, seen = answer["joined"], answer["seen"]
    if not isinstance(joined, list) or not isinstance(seen, dict):
        raise TypeError("wait_joined gave an answer of another form")
    return [(name in joined, str(seen[name])) for name in nodes]
