"""One cluster during one operation: its members, its head node, and the configuration that all hosts share."""

import asyncio
import base64
import secrets
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from gpuaas_sdk.controller import Context, ControllerMember, Failed, Host
from gpuaas_slurm.facts import Facts, read_facts
from gpuaas_slurm.head_requests import HeadRequests, HeadState, read_head_state
from gpuaas_slurm.inputs import Inputs
from gpuaas_slurm.packages import Packages
from gpuaas_slurm.projects import ProjectAccount, accounts_of
from gpuaas_slurm.scheduler import Scheduler
from gpuaas_slurm.templates.slurm_conf import ClusterConf

MAX_PARALLEL = 16  # members at a time: this machine has few cores, and hosts accept few logins
KEY_BYTES = 1024
Answer = TypeVar("Answer")


@dataclass
class Cluster:
    ctx: Context
    inputs: Inputs
    packages: Packages
    heads: HeadRequests
    facts: dict[str, Facts] = field(default_factory=dict)  # by allocation
    _status_key: str = field(default="", repr=False)

    @classmethod
    def of(cls, ctx: Context, heads: HeadRequests) -> "Cluster":
        inputs = Inputs.of(ctx.inputs)
        return cls(ctx, inputs, Packages(ctx, inputs.packages), heads)

    @property
    def id(self) -> str:
        return self.ctx.instance.id

    @property
    def projects(self) -> tuple[ProjectAccount, ...]:
        """The projects that the cluster serves, its own first."""
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
        """The workers that this operation works on and that have a host."""
        return self.ctx.members_of("worker")

    async def scheduler(self) -> Scheduler:
        return Scheduler(await self.ctx.host(self.head))

    async def host_facts(self, member: ControllerMember) -> Facts:
        allocation = allocation_of(member)
        if allocation not in self.facts:
            self.facts[allocation] = await read_facts(await self.ctx.host(member))
        return self.facts[allocation]

    async def conf(self) -> ClusterConf:
        """Returns the configuration for all hosts. The capabilities of the head node decide for all of them."""
        facts = await self.host_facts(self.head)
        confine_memory = self.inputs.confine and self.inputs.confine_memory
        if confine_memory and not (facts.memory_bounds and facts.cgroup != "none"):
            raise Failed(
                "memory_unconfined",
                f"{facts.hostname} cannot limit the memory of jobs: its kernel has no memory controller.",
                next_step="Boot it with the memory controller of control groups, or deploy without confine_memory.",
            )
        return ClusterConf(
            name=self.inputs.cluster_name,
            controller_host=facts.hostname,
            controller_address=(await self.ctx.host(self.head)).address,
            partitions=self.inputs.partitions,
            accounting=self.inputs.accounting,
            cgroup=facts.cgroup if self.inputs.confine else "none",
            memory_per_cpu=facts.memory_per_cpu if confine_memory else None,
        )

    async def munge_key(self, make: bool = False) -> str:
        """Returns the munge key in base64. Only the head node stores it; the controller keeps it during an operation."""
        state = await self.heads.state.submit(self.id, None, self._read_state)
        self.facts[allocation_of(self.head)] = state.facts
        if len(base64.b64decode(state.key)) == KEY_BYTES:
            return state.key
        if not make:
            raise Failed(
                "key_missing",
                "The cluster's munge key is missing on its head node.",
                next_step="Reconcile the cluster.",
            )
        return new_key()

    @property
    def status_key(self) -> str:
        """The key with which the health check authenticates to the head node. The instance's runtime stores it."""
        if not self._status_key:
            controller = (self.ctx.instance.runtime or {}).get("controller")
            known = controller.get("status_key") if isinstance(controller, dict) else None
            self._status_key = str(known) if known else secrets.token_hex(32)
        return self._status_key

    def renew_status_key(self) -> None:
        self._status_key = secrets.token_hex(32)

    async def _read_state(self, requests: Sequence[None]) -> list[HeadState]:
        return [await self.run_on_head(read_head_state)] * len(requests)

    async def run_on_head(self, call: Callable[[Host], Awaitable[Answer]]) -> Answer:
        """Runs a call on the head node, possibly over the connection of another operation of this cluster."""
        return await self.heads.connections.run(self.id, await self.ctx.host(self.head), call)

    def shares_host(self, member: ControllerMember) -> bool:
        """Tells whether another member of the cluster is on the same host."""
        allocation = allocation_of(member)
        return any(
            one.id != member.id and allocation_of(one) == allocation
            for one in self.ctx.all_members
            if not one.host_gone
        )


def new_key() -> str:
    """Returns a new munge key in base64."""
    return base64.b64encode(secrets.token_bytes(KEY_BYTES)).decode()


def allocation_of(member: ControllerMember) -> str:
    if member.allocation is None:
        raise Failed("host_gone", f"The allocation of {member.id} has ended.", next_step="Remove the member.")
    return member.allocation.id


async def for_each_member(
    members: Iterable[ControllerMember], work: Callable[[ControllerMember], Awaitable[None]], limit: int = MAX_PARALLEL
) -> None:
    """Works on all members in parallel. The first error is raised when all have ended, so that nothing is left running."""
    slots = asyncio.Semaphore(limit)

    async def one(member: ControllerMember) -> None:
        async with slots:
            await work(member)

    ended = await asyncio.gather(*(one(member) for member in members), return_exceptions=True)
    problems = [problem for problem in ended if problem is not None]
    for problem in sorted(problems, key=lambda found: isinstance(found, Exception)):  # an interruption is raised first
        raise problem
