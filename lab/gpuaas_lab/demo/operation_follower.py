"""Shows an operation while it runs: each finished step, its member, and how long it took."""

from dataclasses import dataclass, field

from gpuaas_lab.demo.context import SETTLE_SECONDS, DemoContext
from gpuaas_lab.errors import LabError
from gpuaas_sdk import InstanceMember, Operation, OperationStep

MARKS = {"succeeded": "[green]✓[/green]", "failed": "[red]✗[/red]", "skipped": "–"}


@dataclass
class OperationFollower:
    context: DemoContext
    _names: dict[str, str] = field(default_factory=dict)

    def wait_for_success(self, operation: Operation) -> Operation:
        """Follow an operation to its end; anything but success is an error."""
        shown: set[tuple[str, str | None]] = set()
        now = operation
        for now in self.context.customer.operations.follow(self.context.project_id, operation.id, SETTLE_SECONDS):
            self._show(now, shown)
        if now.status != "succeeded":
            why = now.failure
            raise LabError(f"{now.kind}: {why.message} ({why.code})" if why else f"{now.kind} is {now.status}")
        return now

    def members(self, instance_id: str) -> list[InstanceMember]:
        found = list(self.context.customer.instances.members(self.context.project_id, instance_id, removed=True))
        self._names |= {one.id: f"{one.component_key}/{one.ordinal}" for one in found}
        return [one for one in found if one.removed_at is None]

    def _show(self, operation: Operation, shown: set[tuple[str, str | None]]) -> None:
        for step in operation.steps:
            if step.finished_at is not None and (step.name, step.member_id) not in shown:
                shown.add((step.name, step.member_id))
                self.context.report.print_line(self._line(operation.instance_id, step))
        going = ", ".join(dict.fromkeys(one.name for one in operation.steps if one.finished_at is None))
        phases = {"verifying": "inspecting the hosts", "probing": "waiting until the members are ready"}
        self.context.report.set_status(phases.get(operation.phase or "", going))

    def _line(self, instance_id: str, step: OperationStep) -> str:
        if step.member_id is not None and step.member_id not in self._names:
            self.members(instance_id)
        where = self._names.get(step.member_id or "", "")
        begun, ended = step.started_at, step.finished_at
        took = f"{(ended - begun).total_seconds():5.1f} s" if begun and ended else ""
        return f"{MARKS.get(step.status, '•')} {step.name:<16} {where:<14} {took}"
