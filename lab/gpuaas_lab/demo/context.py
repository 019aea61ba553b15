"""Holds what the demo's steps share: the platform, the fleet, the report, and the clients of an operator and a customer."""

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
class Person:
    client: Client
    credentials: PasswordCredentials

    @cached_property
    def token(self) -> str:
        """The person's access token for the `gpuaas` command; it outlives the demo."""
        return self.client.sign_in(self.credentials).access_token


@dataclass(frozen=True)
class DemoContext:
    platform: RunningPlatform
    fleet: DemoFleet
    report: Report
    admin: Client
    administrator: Person
    tenant_id: str
    project_id: str

    @classmethod
    def create(cls, platform: RunningPlatform, fleet: DemoFleet, report: Report) -> "DemoContext":
        """Create a customer as an operator does: a tenant, a project, and its administrator."""
        admin = Client(platform.url, credentials=PasswordCredentials(platform.admin_email, platform.admin_password))
        tenant = admin.tenants.create("acme", "Acme Research")
        project = admin.projects.create(tenant.id, "training", "Model training")
        person = _create_person(admin, tenant.id, project.id, "mia@acme.example", "Mia", "project_admin")
        return cls(platform, fleet, report, admin, person, tenant.id, project.id)

    @property
    def customer(self) -> Client:
        """The client of the project's administrator."""
        return self.administrator.client

    def add_person(self, email: str, name: str, role: str) -> Person:
        """Create a person with a role in the project."""
        return _create_person(self.admin, self.tenant_id, self.project_id, email, name, role)

    def wait_for_state(self, allocations: Iterable[Allocation], state: str) -> list[Allocation]:
        """Wait until each allocation is in this state and return them; any other final state is an error."""
        ids = [one.id for one in allocations]
        live = {one.id: one for one in self.customer.allocations.follow(self.project_id, ids, SETTLE_SECONDS)}
        for one in live.values():
            if one.state != state:
                raise LabError(f"{one.name} is {one.state}: {one.failure.message if one.failure else ''}")
        return [live[one] for one in ids]

    def ssh(
        self, allocation: Allocation, command: str, person: Person | None = None
    ) -> "subprocess.CompletedProcess[str]":
        """Run a command in an allocation through `gpuaas allocations ssh`, as a person would."""
        environment = {
            **os.environ,
            "GPUAAS_URL": self.platform.url,
            "GPUAAS_TOKEN": (person or self.administrator).token,
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

    def run_over_ssh(self, allocation: Allocation, command: str, person: Person | None = None) -> str:
        """Run a command that must succeed, and return its output."""
        done = self.ssh(allocation, command, person)
        if done.returncode != 0:
            raise LabError(f"{command!r} on {allocation.name} failed: {(done.stdout + done.stderr).strip()[-300:]}")
        return done.stdout.strip()


def _create_person(admin: Client, tenant_id: str, project_id: str, email: str, name: str, role: str) -> Person:
    password = secrets.token_urlsafe(18)
    user = admin.users.create(tenant_id, email, name, password=password)
    admin.projects.set_member(project_id, user.id, role)
    credentials = PasswordCredentials(email, password)
    return Person(Client(admin.base_url, credentials=credentials), credentials)


def address_of(allocation: Allocation) -> str:
    return allocation.ssh.address if allocation.ssh else ""
