"""The interface between tasks and hosts. A driver turns a checked spec into a list of named steps; the phase runner
runs them, so that every driver reports, repeats and stops in the same way.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from gpuaas_agent.commands import Deadline
from gpuaas_agent.host.confined_files import ConfinedFiles
from gpuaas_agent.own_state import OwnState
from gpuaas_agent.phases import Step
from gpuaas_agent.probes.checks import ProbeTarget
from gpuaas_agent.protocol import SignedTask
from gpuaas_agent.specs import AccessSpec, InspectSpec, ProvisionSpec, ReleaseSpec

# (allocation id or None for the node itself, public key line, address) → certificate line
CertifyHost = Callable[[str | None, str, str], str]


def _keep_node_key() -> str | None:
    """Keep the node's key; for drivers that run without an agent."""
    return None


@dataclass(frozen=True)
class TaskContext:
    """Holds what a step may use besides its spec."""

    deadline: Deadline
    generation: int
    certify_host: CertifyHost
    # Rotates the node's key and returns a detail for the record. The wipe of a bare-metal host calls it after the tenant's
    # last process has ended.
    rotate_node_key: Callable[[], str | None] = _keep_node_key
    task: SignedTask | None = None  # as received, with its signature
    own_state: OwnState | None = None


@dataclass(frozen=True)
class SshTarget:
    """Says how the agent itself logs in to an allocation by SSH. `command_prefix` runs ssh where the target can be reached."""

    address: str
    port: int
    user: str
    host_public_key: str
    command_prefix: tuple[str, ...] = ()


@dataclass
class Plan:
    """The steps of one task, and the result and evidence that they fill in."""

    steps: list[Step] = field(default_factory=list)
    result: dict[str, object] = field(default_factory=dict)
    evidence: dict[str, object] = field(default_factory=dict)


class Driver(Protocol):
    """Plans the tasks of one shape. Every step of every plan must be repeatable after a crash at any point."""

    def prepare(self, context: TaskContext) -> None:
        """Make the host ready for allocations; called at the agent's start."""

    def idle(self) -> None:
        """Do expensive preparation; called when the host has nothing else to do."""

    def expire_grants(self, context: TaskContext) -> None:
        """Remove keys whose grant has expired."""

    def renew_host_certificates(self, context: TaskContext) -> None:
        """Give every sshd a new host certificate before the old one expires, and check that sshd presents it."""

    def ssh_target(self, allocation_id: str) -> SshTarget:
        """Return how to log in to an allocation that this host serves; for terminals."""

    def probe_target(self, allocation_id: str) -> ProbeTarget:
        """Return where the probes of an allocation go that this host serves."""

    def log_files(self, allocation_id: str) -> ConfinedFiles:
        """Return the files of an allocation that this host serves, as its first process sees them; for its journal."""

    def provision(self, spec: ProvisionSpec, context: TaskContext) -> Plan: ...

    def sync_access(self, spec: AccessSpec, context: TaskContext) -> Plan: ...

    def inspect(self, spec: InspectSpec, context: TaskContext) -> Plan:
        """Inspect what an app left, compared with its footprint and the baseline. It changes nothing."""

    def deprovision(self, spec: ReleaseSpec, context: TaskContext) -> Plan: ...

    def wipe(self, spec: ReleaseSpec, context: TaskContext) -> Plan: ...

    def verify(self, spec: ReleaseSpec, context: TaskContext) -> Plan: ...
