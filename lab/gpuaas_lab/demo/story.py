"""The main job, step by step, through the public API and the `gpuaas` command: enrol, approve, allocate, log in, release."""

import os
import secrets
import subprocess
import sys
import urllib.request
from dataclasses import dataclass

from gpuaas_lab.demo.fleets import GPUS, HOSTS, DemoFleet
from gpuaas_lab.demo.platform import RunningPlatform
from gpuaas_lab.demo.report import Report, Step
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Allocation, Client, NewAllocation, NewSku, Node, PasswordCredentials

MODEL = "NVIDIA H100 80GB HBM3"
SETTLE_SECONDS = 120.0
# What a tenant might leave behind: a file of root's, a schedule, a process that outlives the session.
LITTER = (
    "echo secret-weights | sudo tee /opt/weights.bin >/dev/null;"
    " echo '* * * * * true' | crontab -;"
    " sudo systemd-run --quiet --unit=left-behind sleep 86400;"
    " echo left: file, crontab, service"
)


@dataclass
class Story:
    platform: RunningPlatform
    fleet: DemoFleet
    report: Report
    admin: Client
    credentials: PasswordCredentials | None = None
    member: Client | None = None
    tenant_id: str = ""
    project_id: str = ""

    @classmethod
    def begin(cls, platform: RunningPlatform, fleet: DemoFleet, report: Report) -> "Story":
        admin = Client(platform.url, credentials=PasswordCredentials(platform.admin_email, platform.admin_password))
        return cls(platform, fleet, report, admin)

    def prepare(self) -> None:
        """What an operator does once: a customer, something to offer, nodes, and a look at their topology."""
        with self.report.step("Create a tenant, a project and a member; offer two SKUs") as step:
            self._people()
            self._offer()
            step.detail = "tenant acme, project training, SKUs h100-node and h100-slice"
        with self.report.step(f"Enrol {HOSTS} nodes with a one-time bundle") as step:
            self._enrol(step)
        with self.report.step("Approve what discovery found") as step:
            self._approve(step)

    def run(self) -> None:
        with self.report.step("Allocate a whole host (bare metal) and a 2-GPU slice") as step:
            whole, part = self._allocate(step)
        if self.fleet.real:
            with self.report.step("Log in by SSH with a 15-minute certificate") as step:
                self._log_in(whole, part, step)
        with self.report.step("Release both, wipe, and verify the wipe") as step:
            self._release([whole, part], step)
        if self.fleet.real:
            with self.report.step("Try the door again, and look at the host from outside") as step:
                self._nothing_is_left(whole, step)
        with self.report.step("Read the audit trail and the API reference") as step:
            self._look_back(step)

    def _people(self) -> None:
        tenant = self.admin.tenants.create("acme", "Acme Research")
        project = self.admin.projects.create(tenant.id, "training", "Model training")
        email, password = "mia@acme.example", secrets.token_urlsafe(18)
        user = self.admin.users.create(tenant.id, email, "Mia", password=password)
        self.admin.projects.set_member(project.id, user.id, "project_member")
        self.tenant_id, self.project_id = tenant.id, project.id
        self.credentials = PasswordCredentials(email, password)
        self.member = Client(self.platform.url, credentials=self.credentials)

    def _offer(self) -> None:
        for name, shape, counts in (("h100-node", "baremetal", [GPUS]), ("h100-slice", "gpu_slice", [1, 2, 4])):
            self.admin.skus.create(
                NewSku(
                    name=name,
                    shape=shape,
                    gpu_model=MODEL,
                    gpu_counts=counts,
                    price_per_gpu_hour_minor=250,
                    currency="USD",
                )
            )

    def _enrol(self, step: Step) -> None:
        token = self.admin.enrolment_tokens.create(note="demo", max_uses=HOSTS)
        self.fleet.enrol(token.bundle or "")
        nodes = self.admin.wait_for(self._nodes_with_inventory, SETTLE_SECONDS, "all nodes with their inventory")
        step.detail = ", ".join(sorted(node.name for node in nodes)) + f", over {self.platform.agent_url}"

    def _nodes_with_inventory(self) -> list[Node] | None:
        nodes = list(self.admin.nodes.list())
        ready = len(nodes) == HOSTS and all(len(self.admin.slots.list(node.id)) == GPUS for node in nodes)
        return nodes if ready else None

    def _approve(self, step: Step) -> None:
        slots = [slot for node in self.admin.nodes.list() for slot in self.admin.slots.approve(node.id)]
        groups = {(slot.node_id, slot.nvlink_group) for slot in slots}
        step.detail = f"{len(slots)} GPUs in {len(groups)} NVLink groups, {slots[0].gpu_model}"

    def _allocate(self, step: Step) -> tuple[Allocation, Allocation]:
        member = self._member()
        whole = member.allocations.create(self.project_id, NewAllocation(sku="h100-node", name="whole"))[0]
        part = member.allocations.create(self.project_id, NewAllocation(sku="h100-slice", gpu_count=2, name="part"))[0]
        live = self._settle([whole.id, part.id])
        for one in live.values():
            if one.state != "active" or one.ssh is None:
                raise LabError(f"{one.name} is {one.state}: {one.failure.message if one.failure else ''}")
        whole, part = live[whole.id], live[part.id]
        step.detail = f"whole at {_address(whole)}, part at {_address(part)}, both active"
        return whole, part

    def _log_in(self, whole: Allocation, part: Allocation, step: Step) -> None:
        seen = []
        for allocation in (whole, part):
            result = self._ssh(allocation, "echo $(hostname) as $(id -un), $(ls -d /dev/nvidia[0-9]* | wc -l) GPUs")
            if result.returncode != 0:
                raise LabError(f"ssh to {allocation.name} failed: {result.stderr.strip()[-300:]}")
            seen.append(result.stdout.strip())
        littered = self._ssh(whole, LITTER)
        step.detail = f"{'; '.join(seen)}; {littered.stdout.strip()}"

    def _release(self, allocations: list[Allocation], step: Step) -> None:
        member = self._member()
        for allocation in allocations:
            member.allocations.release(self.project_id, allocation.id)
        ended = self._settle([allocation.id for allocation in allocations])
        for one in ended.values():
            if one.state != "released" or not one.wipe_verified:
                raise LabError(f"{one.name} is {one.state}: {one.failure.message if one.failure else ''}")
        evidence = member.allocations.timeline(self.project_id, allocations[0].id).wipe_evidence or {}
        checks = evidence.get("checks")
        names = [f"{check['name']} {check['examined']}" for check in checks] if isinstance(checks, list) else []
        step.detail = f"both proven clean; looked at: {', '.join(names)}"

    def _nothing_is_left(self, whole: Allocation, step: Step) -> None:
        refused = self._ssh(whole, "true")
        if refused.returncode == 0:
            raise LabError("SSH still works after the release")
        host = self.fleet.host_at(_address(whole))
        if host is not None and (host.upper / "opt/weights.bin").exists():
            raise LabError("the tenant's file is still on the host's disk")
        step.detail = "no certificate is issued any more; the tenant's file is gone from the disk"

    def _look_back(self, step: Step) -> None:
        records = list(self.admin.audit.list(project_id=self.project_id).first(200))
        with urllib.request.urlopen(f"{self.platform.url}/docs", timeout=10) as page:  # noqa: S310 - our own address
            if page.status != 200:
                raise LabError("the API reference does not answer")
        step.detail = f"{len(records)} audit records of the project; API reference at {self.platform.url}/docs"

    def _ssh(self, allocation: Allocation, command: str) -> "subprocess.CompletedProcess[str]":
        """Through the `gpuaas` command, as a person would."""
        if self.credentials is None:
            raise LabError("the story has not begun")
        environment = {
            **os.environ,
            "GPUAAS_URL": self.platform.url,
            "GPUAAS_TOKEN": self._member().sign_in(self.credentials).access_token,
            "GPUAAS_PROJECT": self.project_id,
        }
        argv = [sys.executable, "-m", "gpuaas_cli", "allocations", "ssh", allocation.id, "--", command]
        return subprocess.run(
            argv, env=environment, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL
        )

    def _settle(self, ids: list[str]) -> dict[str, Allocation]:
        return {one.id: one for one in self._member().allocations.follow(self.project_id, ids, SETTLE_SECONDS)}

    def _member(self) -> Client:
        if self.member is None:
            raise LabError("the story has not begun")
        return self.member


def _address(allocation: Allocation) -> str:
    return allocation.ssh.address if allocation.ssh else ""
