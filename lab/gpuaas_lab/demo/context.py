"""What the demo's steps share: the platform, the fleet, the report, and the clients of an operator and a customer."""

import os
import secrets
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from gpuaas_lab.demo.fleets import DemoFleet
from gpuaas_lab.demo.platform import RunningPlatform
from gpuaas_lab.demo.report import Report
from gpuaas_lab.errors import LabError
from gpuaas_sdk import Allocation, Client, PasswordCredentials

SETTLE_SECONDS = 120.0
COMMAND_SECONDS = 60.0


@dataclass(frozen=True)
class DemoContext:
    platform: RunningPlatform
    fleet: DemoFleet
    report: Report
    admin: Client
    customer: Client
    credentials: PasswordCredentials
    tenant_id: str
    project_id: str

    @classmethod
    def create(cls, platform: RunningPlatform, fleet: DemoFleet, report: Report) -> "DemoContext":
        """Create a customer as an operator does: a tenant, a project, and its administrator."""
        admin = Client(platform.url, credentials=PasswordCredentials(platform.admin_email, platform.admin_password))
        tenant = admin.tenants.create("acme", "Acme Research")
        project = admin.projects.create(tenant.id, "training", "Model training")
        email, password = "mia@acme.example", secrets.token_urlsafe(18)
        user = admin.users.create(tenant.id, email, "Mia", password=password)
        admin.projects.set_member(project.id, user.id, "project_admin")
        credentials = PasswordCredentials(email, password)
        customer = Client(platform.url, credentials=credentials)
        return cls(platform, fleet, report, admin, customer, credentials, tenant.id, project.id)

    @cached_property
    def token(self) -> str:
        """The customer's access token for the `gpuaas` command; it outlives the demo."""
        return self.customer.sign_in(self.credentials).access_token

    def wait_for_state(self, allocations: Iterable[Allocation], state: str) -> list[Allocation]:
        """Wait until each allocation is in this state and return them; any other final state is an error."""
        ids = [one.id for one in allocations]
        live = {one.id: one for one in self.customer.allocations.follow(self.project_id, ids, SETTLE_SECONDS)}
        for one in live.values():
            if one.state != state:
                raise LabError(f"{one.name} is {one.state}: {one.failure.message if one.failure else ''}")
        return [live[one] for one in ids]

    def ssh(self, allocation: Allocation, command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command in an allocation through `gpuaas allocations ssh`, as a person would."""
        environment = {
            **os.environ,
            "GPUAAS_URL": self.platform.url,
            "GPUAAS_TOKEN": self.token,
            "GPUAAS_PROJECT": self.project_id,
        }
        return subprocess.run(
            [sys.executable, "-m", "gpuaas_cli", "allocations", "ssh", allocation.id, "--", command],
            env=environment,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    def run_over_ssh(self, allocation: Allocation, command: str) -> str:
        """Run a command that must succeed, and return its output."""
        done = self.ssh(allocation, command)
        if done.returncode != 0:
            raise LabError(f"{command!r} on {allocation.name} failed: {(done.stdout + done.stderr).strip()[-300:]}")
        return done.stdout.strip()


def address_of(allocation: Allocation) -> str:
    return allocation.ssh.address if allocation.ssh else ""
