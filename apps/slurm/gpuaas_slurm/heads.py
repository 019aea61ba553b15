"""What operations of one cluster ask of its controller's host together, for as long as this process lives."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuaas_sdk.controller import Failed, Host
from gpuaas_slurm import layout
from gpuaas_slurm.facts import Facts, facts_in
from gpuaas_slurm.gathering import Gathering
from gpuaas_slurm.hostside import ask, ask_in_turn
from gpuaas_slurm.lending import Ways

Named = tuple[str, str]  # an address, and a node's name
Seen = tuple[bool, str]  # whether the cluster counts on a node, and what was seen of it last


@dataclass(frozen=True, slots=True)
class Known:
    facts: Facts
    key: str = field(repr=False)  # in base64; empty where the host has none


@dataclass
class Heads:
    """By instance: each is asked for all who wait, by a way that all share."""

    ways: Ways = field(default_factory=Ways)
    known: Gathering[None, Known] = field(default_factory=Gathering)
    named: Gathering[Named, None] = field(default_factory=Gathering)
    joined: Gathering[str, Seen] = field(default_factory=Gathering)
    proven: Gathering[Sequence[str], Failed | None] = field(default_factory=Gathering)


async def known_of(host: Host) -> Known:
    facts, key = await ask_in_turn(host, ("facts", {"versions": True}), ("key", {"path": layout.MUNGE_KEY}))
    return Known(facts_in(facts), str(key["key"]))


async def name_all(host: Host, asked: Sequence[Named]) -> None:
    names = {address: [name] for address, name in asked}
    await ask(host, "names", {"mark": layout.HOSTS_MARK, "names": names})


async def look_for(host: Host, nodes: Sequence[str], seconds: float) -> list[Seen]:
    answer = await ask(host, "joined", {"nodes": sorted(set(nodes)), "seconds": seconds})
    joined, seen = answer["joined"], answer["seen"]
    if not isinstance(joined, list) or not isinstance(seen, dict):
        raise TypeError("joined answers otherwise than it should")
    return [(name in joined, str(seen[name])) for name in nodes]
