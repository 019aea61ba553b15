"""A tenant and a project on a running server, with users of every role, SKUs and a simulated fleet."""

import contextlib
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass

from gpuaas_sdk import Client, PasswordCredentials
from gpuaas_sdk.generated.models import NewSku, Node
from gpuaas_sdk.testing.agents import SimulatedAgents
from gpuaas_sdk.testing.server import RunningServer

ENROL_SECONDS = 180.0  # other fleets may boot on the same few cores
MODEL = "NVIDIA H100 80GB HBM3"
# Wipe checks that cannot look, or not everywhere, on a lab host: its drives exist only in sysfs, its kernel is everybody's.
NOT_EXAMINED_ON_LAB_HOSTS = ["drives", "kernel"]


@dataclass
class Sandbox:
    """A tenant and a project of its own on a running server, and the platform administrator's client."""

    server: RunningServer
    admin: Client
    tenant_id: str
    project_id: str

    @classmethod
    def create(cls, server: RunningServer) -> "Sandbox":
        admin = server.admin()
        suffix = secrets.token_hex(3)
        tenant = admin.tenants.create(f"acme-{suffix}", "Acme")
        project = admin.projects.create(tenant.id, f"train-{suffix}", "Training")
        return cls(server, admin, tenant.id, project.id)

    def person(self, role: str) -> Client:
        """Creates a user with the role in this project (or tenant) and signs in."""
        return Client(self.server.url, credentials=self.credentials(role))

    def bearer(self, role: str) -> str:
        """Creates such a user and returns a token, for requests that the SDK would not send."""
        return Client(self.server.url).sign_in(self.credentials(role)).access_token

    def credentials(self, role: str) -> PasswordCredentials:
        email = f"{role.replace('_', '-')}-{secrets.token_hex(3)}@example.test"
        password = secrets.token_urlsafe(18)
        if role.startswith("platform_"):
            user = self.admin.users.create(None, email, role, password=password)
            self.admin.users.set_platform_role(user.id, role)
        else:
            user = self.admin.users.create(self.tenant_id, email, role, password=password)
            if role == "tenant_admin":
                self.admin.tenants.set_member(self.tenant_id, user.id, role)
            else:
                self.admin.projects.set_member(self.project_id, user.id, role)
        return PasswordCredentials(email, password)

    def offer(self, whole_host_grade: str = "inspected") -> None:
        """Creates the SKUs of the demo if they do not exist. By default whole hosts are wiped without a restart."""
        names = {sku.name for sku in self.admin.skus.list()}
        for name, shape, counts in (("h100-slice", "gpu_slice", [1, 2, 4]), ("h100-node", "baremetal", [8])):
            if name not in names:
                self.admin.skus.create(
                    NewSku(
                        name=name,
                        shape=shape,
                        gpu_model=MODEL,
                        gpu_counts=counts,
                        price_per_gpu_hour_minor=250,
                        currency="USD",
                        wipe_grade=whole_host_grade if shape == "baremetal" else "inspected",
                        accept_not_examined=NOT_EXAMINED_ON_LAB_HOSTS,
                    )
                )

    @contextlib.contextmanager
    def simulated_fleet(self, nodes: int, *arguments: str, first_index: int = 0) -> Iterator[list[Node]]:
        """Runs simulated agents in a separate process and approves their slots."""
        with self.simulated_agents(nodes, *arguments, first_index=first_index) as (enrolled, _):
            yield enrolled

    @contextlib.contextmanager
    def simulated_agents(
        self, nodes: int, *arguments: str, first_index: int = 0
    ) -> Iterator[tuple[list[Node], SimulatedAgents]]:
        """Like `simulated_fleet`, and also yields the agents, so that a test can kill them."""
        token = self.admin.enrolment_tokens.create(note="simulated", max_uses=nodes)
        bundle = self.server.directory / f"bundle-{secrets.token_hex(3)}"
        bundle.write_text(token.bundle or "")
        before = {node.id for node in self.admin.nodes.list()}
        agents = SimulatedAgents(bundle, ["--nodes", str(nodes), "--first-index", str(first_index), *arguments])
        agents.start()
        try:
            enrolled = self.approve_new(before, nodes)
            yield enrolled, agents
            for node in enrolled:  # later allocations must not be placed on agents that have ended
                current = self.admin.nodes.show(node.id)
                if current.status != "retired" and not current.cordoned:
                    self.admin.nodes.cordon(node.id, "the simulated fleet ends")
        finally:
            agents.kill()

    def approve_new(self, before: set[str], count: int) -> list[Node]:
        deadline = time.monotonic() + ENROL_SECONDS
        while time.monotonic() < deadline:
            fresh = [node for node in self.admin.nodes.list() if node.id not in before]
            if len(fresh) == count and all(self.admin.slots.list(node.id) for node in fresh):
                for node in fresh:
                    self.admin.slots.approve(node.id)
                return [self.admin.nodes.show(node.id) for node in fresh]
            time.sleep(0.05)
        raise RuntimeError(
            f"{len(fresh)} of {count} nodes have enrolled and shown slots after {ENROL_SECONDS:.0f} seconds"
        )
