"""Who is on the stage: the operator, Mia, who runs a project of hers, and the ways in which they speak to the platform."""

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
class Cast:
    platform: RunningPlatform
    fleet: DemoFleet
    report: Report
    admin: Client
    mia: Client
    credentials: PasswordCredentials
    tenant_id: str
    project_id: str

    @classmethod
    def appear(cls, platform: RunningPlatform, fleet: DemoFleet, report: Report) -> "Cast":
        """The operator makes a customer: a tenant, a project, and its administrator."""
        admin = Client(platform.url, credentials=PasswordCredentials(platform.admin_email, platform.admin_password))
        tenant = admin.tenants.create("acme", "Acme Research")
        project = admin.projects.create(tenant.id, "training", "Model training")
        email, password = "mia@acme.example", secrets.token_urlsafe(18)
        user = admin.users.create(tenant.id, email, "Mia", password=password)
        admin.projects.set_member(project.id, user.id, "project_admin")
        credentials = PasswordCredentials(email, password)
        mia = Client(platform.url, credentials=credentials)
        return cls(platform, fleet, report, admin, mia, credentials, tenant.id, project.id)

    @cached_property
    def token(self) -> str:
        """Mia's, for the `gpuaas` command. It outlives the story."""
        return self.mia.sign_in(self.credentials).access_token

    def settled(self, allocations: Iterable[Allocation], state: str) -> list[Allocation]:
        """All of them, in the state that they are meant to end in."""
        ids = [one.id for one in allocations]
        live = {one.id: one for one in self.mia.allocations.follow(self.project_id, ids, SETTLE_SECONDS)}
        for one in live.values():
            if one.state != state:
                raise LabError(f"{one.name} is {one.state}: {one.failure.message if one.failure else ''}")
        return [live[one] for one in ids]

    def ssh(self, allocation: Allocation, command: str) -> "subprocess.CompletedProcess[str]":
        """Through the `gpuaas` command, as a person would."""
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

    def said(self, allocation: Allocation, command: str) -> str:
        """What it prints; it has to succeed."""
        done = self.ssh(allocation, command)
        if done.returncode != 0:
            raise LabError(f"{command!r} on {allocation.name} failed: {(done.stdout + done.stderr).strip()[-300:]}")
        return done.stdout.strip()


def address_of(allocation: Allocation) -> str:
    return allocation.ssh.address if allocation.ssh else ""
