"""Allocates two whole hosts and a slice, logs in, leaves files behind, releases all of them, and checks the wipe."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from gpuaas_lab.demo.context import DemoContext, address_of
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Allocation, NewAllocation

# What a tenant might leave behind: a root-owned file, a crontab, a process that outlives the session.
LITTER = (
    "echo secret-weights | sudo tee /opt/weights.bin >/dev/null;"
    " echo '* * * * * true' | crontab -;"
    " sudo systemd-run --quiet --unit=left-behind sleep 86400;"
    " echo left: file, crontab, service"
)
LOOK = "echo $(hostname) as $(id -un), $(ls -d /dev/nvidia[0-9]* | wc -l) GPUs"


@dataclass(frozen=True)
class DemoAllocations:
    head: Allocation
    more: Allocation
    part: Allocation | None = None
    notebook: Allocation | None = None

    @property
    def all(self) -> list[Allocation]:
        return [one for one in (self.head, self.more, self.part, self.notebook) if one is not None]

    @property
    def whole_hosts(self) -> list[Allocation]:
        return [one for one in self.all if one is not self.part]


def allocate(context: DemoContext, with_slice: bool = True) -> DemoAllocations:
    what = "Allocate two whole hosts" + (" and a 2-GPU slice" if with_slice else "")
    with context.report.step(what) as step:
        requests = [NewAllocation(sku="h100-node", name=name) for name in ("head", "more")]
        if with_slice:
            requests.append(NewAllocation(sku="h100-slice", gpu_count=2, name="part"))
        created = [context.customer.allocations.create(context.project_id, request)[0] for request in requests]
        allocations = DemoAllocations(*context.wait_for_state(created, "active"))
        step.detail = ", ".join(f"{one.name} at {address_of(one)}" for one in allocations.all) + ", all active"
    return allocations


def log_in(context: DemoContext, allocations: DemoAllocations) -> None:
    with context.report.step("Log in by SSH with a 15-minute certificate") as step:
        scripts = {one.id: LOOK for one in allocations.all} | {allocations.head.id: f"{LOOK}; {LITTER}"}
        with ThreadPoolExecutor() as pool:
            outputs = list(pool.map(lambda one: context.run_over_ssh(one, scripts[one.id]), allocations.all))
        step.detail = "; ".join(outputs).replace("\n", ", ")


def release_all(context: DemoContext, allocations: DemoAllocations) -> None:
    with context.report.step("Release all, wipe with a restart, verify the wipe") as step:
        for one in allocations.all:
            context.customer.allocations.release(context.project_id, one.id)
        ended = context.wait_for_state(allocations.all, "released")
        for one in ended:
            if not one.wipe_verified:
                raise LabError(f"the wipe of {one.name} is not verified")
        restarted = [one.name for one in ended if one.wipe_grade == "rebooted"]
        if restarted != [one.name for one in allocations.whole_hosts]:
            raise LabError(f"only {restarted} were wiped with a restart, not all whole hosts")
        evidence = context.customer.allocations.timeline(context.project_id, allocations.head.id).wipe_evidence or {}
        checks = evidence.get("checks")
        names = [f"{check['name']} {check['examined']}" for check in checks] if isinstance(checks, list) else []
        step.detail = (
            f"all {len(allocations.all)} proven clean, whole hosts after a restart; checked: {', '.join(names)}"
        )


def check_nothing_left(context: DemoContext, allocations: DemoAllocations) -> None:
    with context.report.step("Try to log in again, look at the disk from outside") as step:
        if context.ssh(allocations.head, "true").returncode == 0:
            raise LabError("SSH still works after the release")
        host = context.fleet.host_at(address_of(allocations.head))
        if host is not None and (host.upper / "opt/weights.bin").exists():
            raise LabError("the tenant's file is still on the host's disk")
        step.detail = "no certificate is issued; the tenant's file is gone from the disk"
