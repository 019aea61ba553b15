"""The seam between tasks and hosts. A driver turns a checked spec into a list of named steps;
the phase runner runs them, so every driver reports, repeats and stops in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gpuaas_agent.commands import Deadline
from gpuaas_agent.own_state import OwnState
from gpuaas_agent.phases import Step
from gpuaas_agent.protocol import SignedTask
from gpuaas_agent.specs import AccessSpec, InspectSpec, ProvisionSpec, ReleaseSpec

# (allocation id or None for the node itself, public key line, address) → certificate line
CertifyHost = Callable[[str | None, str, str], str]


def _keep_node_key() -> str | None:
    """No new key for the node: for drivers that run without an agent around them."""
    return None


@dataclass(frozen=True)
class TaskContext:
    """What a step may use besides its spec."""

    deadline: Deadline
    generation: int
    certify_host: CertifyHost
    # Makes a new key for the node, and returns a detail for the record. Called in the wipe of a bare-metal host when the
    # last process of the tenant has ended.
    rotate_node_key: Callable[[], str | None] = _keep_node_key
    task: SignedTask | None = None  # as it came, with its signature
    own_state: OwnState | None = None


@dataclass(frozen=True)
class SshTarget:
    """How the agent itself logs in to an allocation by SSH. `through`: a command that leads to where it answers."""

    address: str
    port: int
    user: str
    host_public_key: str
    through: tuple[str, ...] = ()


@dataclass
class Plan:
    """The steps of one task, and what they will have found when they are done."""

    steps: list[Step] = field(default_factory=list)
    result: dict[str, object] = field(default_factory=dict)
    evidence: dict[str, object] = field(default_factory=dict)


class Driver(Protocol):
    """Every step of every plan may run again after a crash at any point."""

    def prepare(self, context: TaskContext) -> None:
        """Make the host ready to take allocations; called at agent start."""

    def idle(self) -> None:
        """Called when the host has nothing to do: the place for expensive preparation."""

    def expire_grants(self, context: TaskContext) -> None:
        """Remove keys whose time is over."""

    def renew_host_certificates(self, context: TaskContext) -> None:
        """Give every sshd that serves here a new certificate before its old one ends, and see that it is served."""

    def ssh_target(self, allocation_id: str) -> SshTarget:
        """For a terminal in an allocation that is served here."""

    def provision(self, spec: ProvisionSpec, context: TaskContext) -> Plan: ...

    def sync_access(self, spec: AccessSpec, context: TaskContext) -> Plan: ...

    def inspect(self, spec: InspectSpec, context: TaskContext) -> Plan:
        """Only looks: what an app left, against its footprint and what was there before."""

    def deprovision(self, spec: ReleaseSpec, context: TaskContext) -> Plan: ...

    def wipe(self, spec: ReleaseSpec, context: TaskContext) -> Plan: ...

    def verify(self, spec: ReleaseSpec, context: TaskContext) -> Plan: ...
