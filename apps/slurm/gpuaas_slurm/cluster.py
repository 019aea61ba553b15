"""One cluster within one operation: who its members are, where its controller is, and what all of them must agree on."""

import asyncio
import base64
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gpuaas_sdk.controller import Context, ControllerMember, Failed, Host
from gpuaas_slurm.facts import Facts, facts_of
from gpuaas_slurm.heads import Heads, Known, known_of
from gpuaas_slurm.inputs import Inputs
from gpuaas_slurm.packages import Packages
from gpuaas_slurm.projects import ProjectAccount, accounts_of
from gpuaas_slurm.rendered.slurm_conf import ClusterConf
from gpuaas_slurm.scheduler import Scheduler

AT_ONCE = 16  # members that are worked on at a time: a controller's machine has few cores and hosts have few logins
KEY_BYTES = 1024
Answer = TypeVar("Answer")


@dataclass
class Cluster:
    ctx: Context
    inputs: Inputs
    packages: Packages
    heads: Heads
    facts: dict[str, Facts] = field(default_factory=dict)  # by allocation
    _status_key: str = field(default="", repr=False)

    @classmethod
    def of(cls, ctx: Context, heads: Heads) -> "Cluster":
        inputs = Inputs.of(ctx.inputs)
        return cls(ctx, inputs, Packages(ctx, inputs.packages), heads)

    @property
    def id(self) -> str:
        return self.ctx.instance.id

    @property
    def projects(self) -> tuple[ProjectAccount, ...]:
        """Those that the cluster serves, its own first."""
        return accounts_of(self.ctx.instance.projects)

    @property
    def head(self) -> ControllerMember:
        for member in self.ctx.all_members:
            if member.component_key == "controller" and not member.host_gone:
                return member
        raise Failed("no_controller", "The cluster's controller has no host.", next_step="Decommission the cluster.")

    @property
    def has_head(self) -> bool:
        return any(one.component_key == "controller" and not one.host_gone for one in self.ctx.all_members)

    @property
    def workers(self) -> list[ControllerMember]:
        """Those that this operation works on, and that have a host."""
        return self.ctx.members_of("worker")

    async def scheduler(self) -> Scheduler:
        return Scheduler(await self.ctx.host(self.head))

    async def host_facts(self, member: ControllerMember) -> Facts:
        place = place_of(member)
        if place not in self.facts:
            self.facts[place] = await facts_of(await self.ctx.host(member))
        return self.facts[place]

    async def conf(self) -> ClusterConf:
        """As all hosts must have it: what the controller's host can do decides for all."""
        facts = await self.host_facts(self.head)
        bounded = self.inputs.confine and self.inputs.confine_memory
        if bounded and not (facts.memory_bounds and facts.cgroup != "none"):
            raise Failed(
                "memory_unconfined",
                f"{facts.hostname} cannot confine jobs to an amount of memory: its kernel's controller is not there.",
                next_step="Boot it with the memory controller of control groups, or launch without confine_memory.",
            )
        return ClusterConf(
            name=self.inputs.cluster_name,
            controller_host=facts.hostname,
            controller_address=(await self.ctx.host(self.head)).address,
            partitions=self.inputs.partitions,
            accounting=self.inputs.accounting,
            cgroup=facts.cgroup if self.inputs.confine else "none",
            memory_per_cpu=facts.memory_per_cpu if bounded else None,
        )

    async def munge_key(self, make: bool = False) -> str:
        """The controller's host keeps it, and nobody else: in base64, for as long as an operation needs it."""
        known = await self.heads.known.ask(self.id, None, self._known)
        self.facts[place_of(self.head)] = known.facts
        if len(base64.b64decode(known.key)) == KEY_BYTES:
            return known.key
        if not make:
            raise Failed(
                "key_missing", "The cluster's key is not on its controller.", next_step="Reconcile the cluster."
            )
        return new_key()

    @property
    def status_key(self) -> str:
        """By which the health check proves to the controller's host who it is. The instance's runtime keeps it."""
        if not self._status_key:
            place = (self.ctx.instance.runtime or {}).get("controller")
            known = place.get("status_key") if isinstance(place, dict) else None
            self._status_key = str(known) if known else secrets.token_hex(32)
        return self._status_key

    def renew_status_key(self) -> None:
        self._status_key = secrets.token_hex(32)

    async def _known(self, asked: Sequence[None]) -> list[Known]:
        return [await self.at_head(known_of)] * len(asked)

    async def at_head(self, question: Callable[[Host], Awaitable[Answer]]) -> Answer:
        """What may be asked by another operation's way as well: it changes nothing for this one alone."""
        return await self.heads.ways.ask(self.id, await self.ctx.host(self.head), question)

    def shares_host(self, member: ControllerMember) -> bool:
        """Whether another member of the cluster stays on the same host."""
        place = place_of(member)
        return any(one.id != member.id and place_of(one) == place for one in self.ctx.all_members if not one.host_gone)


def new_key() -> str:
    """In base64."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def place_of(member: ControllerMember) -> str:
    if member.allocation is None:
        raise Failed("host_gone", f"The allocation of {member.id} has ended.", next_step="Remove the member.")
    return member.allocation.id


async def together(
    members: Iterable[ControllerMember], work: Callable[[ControllerMember], Awaitable[None]], at_once: int = AT_ONCE
) -> None:
    """The same for all of them at once. What one fails with is said when all have come to an end: nothing is left running."""
    gate = asyncio.Semaphore(at_once)

    async def one(member: ControllerMember) -> None:
        async with gate:
            await work(member)

    ended = await asyncio.gather(*(one(member) for member in members), return_exceptions=True)
    problems = [problem for problem in ended if problem is not None]
    for problem in sorted(problems, key=lambda found: isinstance(found, Exception)):  # an interruption comes first
        raise problem
