"""The deployment under attack: tenants with quotas, users, a fleet in two racks, an app with two controller replicas."""

import asyncio
import json
import random
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from chaos.agents import RackOrder
from chaos.clients import ANSWER_SECONDS, Session, Tenant
from chaos.history import History
from chaos.platform import START_SECONDS, TESTS, Part, Platform
from chaos.watchers import StreamWatcher, Watcher
from gpuaas_sdk import Client, NewSku, PasswordCredentials
from gpuaas_sdk.controller import AppController, Context, ControllerClient, ControllerSettings, Replica, connect
from system_support.little_app import LittleApp

MODEL = "NVIDIA H100 80GB HBM3"
NODES, GPUS = 3, 4  # per rack
# Per project; together more than the fleet, so that every kind of refusal occurs. The last project has the app.
QUOTAS = (14, 8, 3)
CLIENTS = (5, 3, 1)
PASSWORD = "a-long-phrase-for-chaos"


class NoopController(AppController):
    """A controller that does nothing on its hosts and reports each step."""

    health_seconds = 5.0

    def __init__(self, slug: str) -> None:
        self.slug = slug

    async def deploy(self, ctx: Context) -> None:
        for member in ctx.members:
            async with ctx.step("install", member):
                await asyncio.sleep(0.2)
            ctx.set_member_status(member, "ready", detail={"seen": True})

    async def decommission(self, ctx: Context) -> None:
        for member in ctx.members:
            async with ctx.step("remove", member):
                await asyncio.sleep(0.1)


@dataclass
class Project:
    tenant_id: str
    id: str
    token: str
    app_slug: str = ""


@dataclass
class Deployment:
    platform: Platform
    history: History
    http: httpx.AsyncClient
    seed: int
    asked_by_racks: tuple[str, str] = ("api-1", "api-2")
    projects: list[Project] = field(default_factory=list)
    tenants: list[Tenant] = field(default_factory=list)
    watchers: list[Watcher] = field(default_factory=list)
    controllers: list[ControllerSettings] = field(default_factory=list)
    controller_ends: list[str] = field(default_factory=list)  # why replicas of the controller ended

    @property
    def journals(self) -> list[Path]:
        return [self.platform.directory / f"rack-{number}.journal" for number in (1, 2)]

    async def assemble(self, with_app: bool = True) -> None:
        await asyncio.to_thread(self._assemble_platform, with_app)
        for index, project in enumerate(self.projects):
            for number in range(CLIENTS[index]):
                name = f"p{index + 1}c{number + 1}"
                session = self.session(name, project.token)
                self.tenants.append(Tenant(session, project.id, project.tenant_id, project.app_slug))
            for kind, name in ((Watcher, f"watcher-{index + 1}"), (StreamWatcher, f"stream-{index + 1}")):
                watcher = kind(self.session(name, project.token), project.id)
                await watcher.begin()
                self.watchers.append(watcher)

    def session(self, name: str, token: str) -> Session:
        dice = random.Random(f"{self.seed}/{name}")
        return Session(name, token, self.platform.urls, self.history, dice, self.http)

    def _assemble_platform(self, with_app: bool) -> None:
        credentials = PasswordCredentials(self.platform.admin_email, self.platform.admin_password)
        with Client(self.platform.urls["api-1"], credentials=credentials) as admin:
            self._offer(admin)
            for number, limit in enumerate(QUOTAS, 1):
                self.projects.append(self._found_project(admin, number, limit))
            self._start_racks(admin)
            if with_app:
                self._publish_app(admin, self.projects[-1])

    def _offer(self, admin: Client) -> None:
        for name, shape, counts in (("h100-slice", "gpu_slice", [1, 2, 4]), ("h100-node", "baremetal", [GPUS])):
            sku = NewSku(
                name=name,
                shape=shape,
                gpu_model=MODEL,
                gpu_counts=counts,
                price_per_gpu_hour_minor=250,
                currency="USD",
                wipe_grade="inspected",  # simulated hosts do not restart
            )
            admin.skus.create(sku)

    def _found_project(self, admin: Client, number: int, limit: int) -> Project:
        tenant = admin.tenants.create(f"tenant-{number}", f"Tenant {number}")
        project = admin.projects.create(tenant.id, f"project-{number}", f"Project {number}")
        admin.quotas.set_project(project.id, limit)
        email = f"owner-{number}@example.test"
        owner = admin.users.create(tenant.id, email, f"Owner {number}", password=PASSWORD)
        admin.tenants.set_member(tenant.id, owner.id, "tenant_admin")
        token = Client(self.platform.urls["api-1"]).sign_in(PasswordCredentials(email, PASSWORD)).access_token
        return Project(tenant.id, project.id, token)

    def _start_racks(self, admin: Client) -> None:
        bundle = self.platform.directory / "bundle"
        bundle.write_text(admin.enrolment_tokens.create(note="chaos", max_uses=2 * NODES).bundle or "")
        for index, api in enumerate(self.asked_by_racks):
            name, url = f"rack-{index + 1}", self.platform.urls[api]
            journal = str(self.journals[index])
            order = RackOrder(name, url, str(bundle), NODES, GPUS, index * NODES, journal, 0.05)
            command = [sys.executable, "-m", "chaos.agents", order.text()]
            clock_file = self.platform.directory / f"{name}.clock"
            environment = {**self.platform.parts["api-1"].environment, "PYTHONPATH": str(TESTS)}
            log_file = self.platform.directory / f"{name}.log"
            self.platform.parts[name] = Part(
                name, command, environment, log_file, clock_file
            )  # started as it is missed
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            nodes = list(admin.nodes.list())
            if len(nodes) == 2 * NODES and all(admin.slots.list(node.id) for node in nodes):
                for node in nodes:
                    admin.slots.approve(node.id)
                return
            time.sleep(0.1)
        raise RuntimeError(f"the racks did not enrol: {self.platform.log_tail()}")

    def _publish_app(self, admin: Client, project: Project) -> None:
        app = LittleApp.publish(admin, project.id)
        account = admin.service_accounts.create(project.id, "controls", ["apps:control"], app_slugs=[app.slug])
        secret = (account.key.secret if account.key else None) or ""
        project.app_slug = app.slug
        for number, url in enumerate(self.platform.urls.values(), 1):
            self.controllers.append(
                ControllerSettings(url, project.id, account.id, secret, replica=f"replica-{number}")
            )

    async def control(self, settings: ControllerSettings) -> None:
        """Run a replica of the controller until cancelled; a replica that ends is recorded and restarted."""
        app = NoopController(self.projects[-1].app_slug)
        while True:
            try:
                async with connect(settings, app) as client:
                    await Replica(
                        app, ControllerClient(client, settings.project_id, settings.replica), concurrency=4
                    ).run()
            except asyncio.CancelledError:
                raise
            except Exception as error:
                self.controller_ends.append(json.dumps([settings.replica, type(error).__name__, str(error)[:200]]))
            await asyncio.sleep(0.5)


def new_http() -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=100, max_keepalive_connections=20)
    return httpx.AsyncClient(timeout=ANSWER_SECONDS, limits=limits, trust_env=False)
