"""Executes a verified envelope: parses the spec, gets the driver's plan, runs it, and returns the result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from gpuaas_agent import phases, specs
from gpuaas_agent.commands import Deadline
from gpuaas_agent.config import Config
from gpuaas_agent.discovery import discover
from gpuaas_agent.drivers.registry import DriverRegistry
from gpuaas_agent.drivers.seam import CertifyHost, Plan, TaskContext
from gpuaas_agent.failures import DeadlineExceeded, Superseded, TaskFailure
from gpuaas_agent.logs.registry import LogRegistry
from gpuaas_agent.logs.spec import LogSpec, parse_logs
from gpuaas_agent.own_state import OwnState
from gpuaas_agent.phases import PhaseRunner, Step
from gpuaas_agent.probes.registry import ProbeRegistry
from gpuaas_agent.probes.spec import ProbeSpec, parse_probes
from gpuaas_agent.protocol import Envelope, Failure, Phase, Result, SignedTask
from gpuaas_agent.terminals.registry import TerminalRegistry


@dataclass(frozen=True)
class TaskExecutor:
    config: Config
    drivers: DriverRegistry
    certify_host: CertifyHost
    now: Callable[[], float]
    terminals: TerminalRegistry
    rotate_node_key: Callable[[], str | None] = lambda: None
    own_state: OwnState | None = None
    probes: ProbeRegistry = field(default_factory=ProbeRegistry)
    logs: LogRegistry = field(default_factory=lambda: LogRegistry(lambda _, __: {}))

    def execute(
        self,
        envelope: Envelope,
        superseded: Callable[[], bool],
        report: Callable[[list[Phase]], None],
        task: SignedTask | None = None,
    ) -> Result:
        seconds = envelope.deadline.timestamp() - self.now()
        runner = PhaseRunner(Deadline(time.monotonic() + seconds), superseded, report)
        plan = Plan()
        try:
            if seconds <= 0:
                raise DeadlineExceeded("waiting to start")
            if superseded():
                raise Superseded
            plan = self._plan(envelope, runner.deadline, task)
            runner.run(plan.steps)
        except Exception as problem:
            return Result(
                envelope.generation,
                "failed",
                runner.phases,
                plan.result,
                plan.evidence,
                phases.failure_of(problem),
            )
        return Result(envelope.generation, "succeeded", runner.phases, plan.result, plan.evidence)

    def _plan(self, envelope: Envelope, deadline: Deadline, task: SignedTask | None) -> Plan:
        if envelope.kind == "discover":
            return self._discover()
        context = TaskContext(
            deadline, envelope.generation, self.certify_host, self.rotate_node_key, task, self.own_state
        )
        raw = envelope.spec
        if envelope.kind == "provision":
            spec = specs.parse_provision(raw)
            return self.drivers.for_shape(spec.access.shape).provision(spec, context)
        if envelope.kind == "sync_access":
            access = specs.parse_access(raw)
            return self.drivers.for_shape(access.shape).sync_access(access, context)
        if envelope.kind == "inspect":
            inspect = specs.parse_inspect(raw)
            return self.drivers.for_shape(inspect.shape).inspect(inspect, context)
        if envelope.kind == "terminal":
            return self._terminal(specs.parse_terminal(raw), deadline)
        if envelope.kind == "logs":
            return self._logs(parse_logs(raw), deadline)
        if envelope.kind == "probe":
            return self._probe(parse_probes(raw), envelope.generation)
        if envelope.kind not in ("deprovision", "wipe", "verify_wipe"):
            raise TaskFailure(
                "task_kind_unknown",
                f"This agent does not know the task {envelope.kind[:40]!r}",
                "Update the agent on this node.",
            )
        release = specs.parse_release(raw)
        driver = self.drivers.for_shape(release.shape)
        if envelope.kind == "deprovision":
            plan = driver.deprovision(release, context)
            plan.steps.insert(0, Step("hang_up", lambda: f"{self.terminals.hang_up(release.allocation_id)} terminals"))
            end = Step("end_probes", lambda: f"{self.probes.end_allocation(release.allocation_id)} members")
            plan.steps.insert(1, end)
            unread = Step("end_log_readers", lambda: f"{self.logs.end_allocation(release.allocation_id)} readers")
            plan.steps.insert(2, unread)
            return plan
        if envelope.kind == "wipe":
            return driver.wipe(release, context)
        return driver.verify(release, context)

    def _terminal(self, spec: specs.TerminalSpec, deadline: Deadline) -> Plan:
        ssh_target = self.drivers.for_shape(spec.shape).ssh_target(spec.allocation_id)
        return Plan(steps=[Step("open", lambda: self.terminals.open(spec, ssh_target, deadline))])

    def _logs(self, spec: LogSpec, deadline: Deadline) -> Plan:
        driver = self.drivers.for_shape(spec.shape)

        def read() -> str:
            return self.logs.read(spec, lambda: driver.log_files(spec.allocation_id), deadline)

        return Plan(steps=[Step("read", read)])

    def _probe(self, spec: ProbeSpec, generation: int) -> Plan:
        def watch() -> str:
            return self.watch_member(spec, generation)

        return Plan(steps=[Step("watch", watch)])

    def watch_member(self, spec: ProbeSpec, generation: int) -> str:
        """Run the member's probes from now on; an allocation that this host does not serve has none."""
        if not spec.probes:
            self.probes.end([spec.member_id])
            return "ended"
        target = self.drivers.for_shape(spec.shape).probe_target(spec.allocation_id)
        return self.probes.watch(spec, generation, target)

    def _discover(self) -> Plan:
        plan = Plan()

        def look() -> None:
            plan.result["inventory"] = discover(self.config.hw_root)

        plan.steps = [Step("discover", look)]
        return plan


def stale_generation(generation: int, highest: int) -> Result:
    return Result(
        generation,
        "refused",
        failure=Failure(
            "stale_generation",
            f"Generation {generation} is older than {highest}, which this agent has seen",
            "Nothing to do; the newer task applies.",
            False,
        ),
    )
