"""A project with an app in the catalog, active allocations on a host, somebody who asks, and controllers that work."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
from psycopg.types.json import Jsonb

from gpuaas_server.catalog.manifest import Manifest, digests_of
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from gpuaas_server.processes.worker import build_worker
from gpuaas_server.receipts.compare import CHECKS
from gpuaas_server.receipts.footprint import digest as footprint_digest
from gpuaas_server.work import leases
from tests_support import agents, manifests
from tests_support.agents import Host, Json, MovableClock, Person, Site, inventory, slot

GPUS = 8
WAY_IN = {"ssh": {"address": "10.0.0.1", "port": 22, "user": "gpu"}}
INPUTS = {"greeting": "hello"}
FORCED: Json = {"force": True, "reason": "members that the app needs leave, too"}
QUEUE = {"when_no_controller": "queue"}  # a test decides itself when a controller is there


@dataclass
class Controller:
    """A replica of the app's controller: a service account with a token, and what it claimed last."""

    person: Person
    account_id: str
    project_id: str
    replica: str = "replica-1"
    token: str = ""

    async def work(self, wait: int = 0) -> list[Json]:
        found: list[Json] = (await self.person.get(f"/projects/{self.project_id}/controller/work?wait={wait}"))["items"]
        return found

    async def send(self, operation_id: str, verb: str, body: Json | None = None) -> httpx.Response:
        path = f"/projects/{self.project_id}/operations/{operation_id}/{verb}"
        document = {"replica": self.replica} if verb == "claim" else {"lease_token": self.token}
        answer = await self.person.call("POST", path, document | (body or {}))
        if verb == "claim" and answer.status_code == 200:
            self.token = answer.json()["lease_token"]
        return answer

    async def does(self, operation_id: str, verb: str, **body: object) -> Json:
        answer = await self.send(operation_id, verb, body)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def carry_out(self, operation_id: str, **body: object) -> Json:
        await self.does(operation_id, "claim")
        return await self.does(operation_id, "complete", **body)


@dataclass
class AppSite:
    site: Site
    host: Host
    clock: MovableClock
    tenant_id: str
    project_id: str
    allocations: list[str]
    controller: Controller
    left: list[str] = field(default_factory=list)  # units that the host finds when it is inspected

    @property
    def admin(self) -> Person:
        return self.site.admin

    @property
    def platform(self) -> Platform:
        return self.site.platform

    @property
    def path(self) -> str:
        return f"/projects/{self.project_id}"

    async def another_controller(
        self, replica: str = "replica-2", apps: tuple[str, ...] = ("echo",), name: str = ""
    ) -> Controller:
        body = {"name": name or f"c-{secrets.token_hex(4)}", "scopes": ["apps:control"], "app_slugs": list(apps)}
        account = await self.admin.post(f"{self.path}/service-accounts", body)
        grant = {"grant_type": "client_credentials", "client_id": account["id"]}
        answer = await self.site.client.post("/auth/token", json=grant | {"client_secret": account["key"]["secret"]})
        person = Person(self.site.client, answer.json()["access_token"])
        return Controller(person, account["id"], self.project_id, replica)

    async def another_tenant(self, slug: str, allocations: int = 2) -> "AppSite":
        """A project of another tenant on the same platform, with allocations of its own; the controller is the same."""
        tenant = await self.admin.post("/tenants", {"slug": slug, "name": slug})
        project = await self.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "use", "name": "Use"})
        controller = replace(self.controller, project_id=project["id"])
        world = AppSite(self.site, self.host, self.clock, tenant["id"], project["id"], [], controller)
        body = {"sku": "slice", "gpu_count": 1, "count": allocations}
        made = await self.admin.post(f"{world.path}/allocations", body)
        world.allocations = [one["id"] for one in made["items"]]
        await world.settle()
        return world

    def second_replica(self, name: str = "replica-2") -> Controller:
        """Of the same controller: the same service account."""
        return Controller(self.controller.person, self.controller.account_id, self.project_id, name)

    async def create(self, name: str = "first", nodes: int = 2, **more: object) -> httpx.Response:
        places = [("head", 0), *(("node", n) for n in range(nodes))]
        intent = [{"component_key": key, "allocation_id": self.allocations[n]} for key, n in places]
        body = {"app": "echo", "name": name, "placement_intent": intent, "inputs": INPUTS, **QUEUE, **more}
        return await self.admin.call("POST", f"{self.path}/instances", body)

    async def created(self, name: str = "first", nodes: int = 2, **more: object) -> tuple[str, str]:
        """The ids of the instance and of its deploy."""
        answer = await self.create(name, nodes, **more)
        assert answer.status_code == 201, answer.text
        return answer.json()["instance"]["id"], answer.json()["operation"]["id"]

    async def running(self, name: str = "first", nodes: int = 2) -> str:
        instance_id, operation_id = await self.created(name, nodes)
        await self.controller.carry_out(operation_id)
        return instance_id

    async def ask(self, instance_id: str, verb: str, **body: object) -> httpx.Response:
        return await self.admin.call("POST", f"{self.path}/instances/{instance_id}/{verb}", body)

    async def asked(self, instance_id: str, verb: str, **body: object) -> str:
        """The id of the operation that follows."""
        answer = await self.ask(instance_id, verb, **body)
        assert answer.status_code in (200, 201), answer.text
        found = answer.json()
        return str(found["operation"]["id"] if "operation" in found else found["id"])

    async def change_members(self, instance_id: str, kind: str, **body: object) -> httpx.Response:
        return await self.ask(instance_id, "member-operations", kind=kind, **body)

    async def instance(self, instance_id: str) -> Json:
        return await self.admin.get(f"{self.path}/instances/{instance_id}")

    async def operation(self, operation_id: str) -> Json:
        return await self.admin.get(f"{self.path}/operations/{operation_id}")

    async def members(self, instance_id: str, removed: bool = False) -> list[Json]:
        query = "?removed=true&limit=200" if removed else "?limit=200"
        found: list[Json] = (await self.admin.get(f"{self.path}/instances/{instance_id}/members{query}"))["items"]
        return found

    async def timeline(self, instance_id: str) -> list[str]:
        found = await self.admin.get(f"{self.path}/instances/{instance_id}/timeline?limit=500")
        return [entry["type"] for entry in found["items"]]

    async def settle(self, answering: bool = True) -> None:
        """Run the worker, and let the host answer, until there is nothing to do at this time."""
        worker = build_worker(self.platform)
        kinds = [kind for kind in worker._steps if kind not in ("housekeeping", "node_liveness")]
        for _ in range(60):
            async with self.platform.database.connection(PLATFORM) as connection:
                taken = await leases.take(connection, kinds, "test", self.clock(), 60, 20)
            for lease in taken:
                await worker._handle(lease)
            if not taken and not (answering and await self.answer()):
                return
        raise AssertionError("it never settles")

    async def answer(self) -> bool:
        tasks = await self.host.poll()
        for task in tasks:
            result: Json = {"provision": WAY_IN, "verify_wipe": {"clean": True, "checks": []}}.get(task["kind"], {})
            if task["kind"] == "inspect":
                result = self._inspected(task["spec"])
            assert (await self.host.report(task, result=result)).status_code == 200
        return bool(tasks)

    def _inspected(self, spec: Json) -> Json:
        checks = []
        for name in CHECKS[spec["depth"]]:
            found = [{"item": one, "why": "active", "known": False} for one in self.left] if name == "units" else []
            told = {"name": name, "entries": spec["footprint"].get(name, []), "found": found, "left": len(found)}
            checks.append(told | {"not_in_footprint": [], "examined": 1, "problem": ""})
        asked = {key: spec[key] for key in ("receipt_id", "allocation_id", "depth")}
        return asked | {"footprint_sha256": footprint_digest(spec["footprint"]), "looks": 1, "checks": checks}

    async def artifact(self, digest: str) -> str:
        """The path of the project's artifact with these bytes."""
        (found,) = (await self.admin.get(f"{self.path}/artifacts?digest={digest}"))["items"]
        return f"{self.path}/artifacts/{found['id']}"

    async def revoke(self, digest: str) -> None:
        """Revoke the artifact, and let the worker flag what has to do with it."""
        await self.admin.post(f"{await self.artifact(digest)}/revoke", {"reason": "a hole in it"})
        await self.settle()

    async def publish(self, **changes: Any) -> Manifest:
        """Insert an active version of the app with an active artifact, without the steps that lead there."""
        manifest = manifests.manifest_of(**changes)
        async with self.platform.transaction(PLATFORM, system_actor("test")) as tx:
            await _publish(tx.connection, self.tenant_id, self.project_id, manifest)
        return manifest


async def _publish(connection: Any, tenant_id: str, project_id: str, manifest: Manifest) -> None:
    same = {"tenant": tenant_id, "project": project_id}
    for digest in digests_of(manifest.document):
        await connection.execute(
            "INSERT INTO artifacts (id, tenant_id, project_id, kind, name, digest, size_bytes, media_type, location, stage,"
            " stage_since, trust, trust_detail, signed_by, signatures, created_by, created_at) VALUES (%(id)s, %(tenant)s,"
            " %(project)s, 'blob', 'echo', %(digest)s, 1, 'application/octet-stream', 'x', 'active', now(), 'unverified', '',"
            " '{}', '{}', 'usr_x', now()) ON CONFLICT (project_id, digest) DO NOTHING",
            {**same, "id": new_id("art"), "digest": digest},
        )
    await connection.execute(
        "INSERT INTO apps (id, tenant_id, project_id, slug, display_name, description, keywords, search, visibility,"
        " created_by, created_at) VALUES (%(id)s, %(tenant)s, %(project)s, %(slug)s, 'Echo', '', '{}', '', 'private',"
        " 'usr_x', now()) ON CONFLICT (slug) DO NOTHING",
        {**same, "id": new_id("app"), "slug": manifest.slug},
    )
    await connection.execute(
        "INSERT INTO app_versions (id, tenant_id, project_id, app_id, version, precedence, runtime_version, artifact_kind,"
        " artifact_digest, manifest, content_digest, status, created_by, created_at) SELECT %(id)s, %(tenant)s,"
        " %(project)s, id, %(version)s, %(version)s, %(runtime)s, 'controller', %(digest)s, %(manifest)s, %(content)s,"
        " 'active', 'usr_x', now() FROM apps WHERE slug = %(slug)s",
        {
            **same,
            "id": new_id("apv"),
            "version": manifest.version,
            "runtime": manifest.runtime_version,
            "digest": manifest.artifact.digest,
            "manifest": Jsonb(manifest.document),
            "content": manifest.content_digest,
            "slug": manifest.slug,
        },
    )


@asynccontextmanager
async def opened(platform: Platform, allocations: int = 4) -> AsyncIterator[AppSite]:
    clock = MovableClock()
    platform.clock = clock
    async with agents.opened(platform) as site:
        host = await site.host()
        host.clock = clock
        slots = [slot(n) for n in range(GPUS)]
        assert (await host.call("POST", "/inventory", inventory(*slots))).status_code == 200
        await site.admin.post(f"/nodes/{host.node_id}/slots/approve", {})
        sku = {"name": "slice", "shape": "gpu_slice", "gpu_model": slots[0]["gpu_model"], "gpu_counts": [1]}
        await site.admin.post("/skus", sku | {"price_per_gpu_hour_minor": 1})
        tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
        project = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "train", "name": "Train"})
        world = AppSite(site, host, clock, tenant["id"], project["id"], [], Controller(site.admin, "", ""))
        world.controller = await world.another_controller("replica-1", name="controller")
        await world.publish()
        made = await site.admin.post(
            f"{world.path}/allocations", {"sku": "slice", "gpu_count": 1, "count": allocations}
        )
        world.allocations = [one["id"] for one in made["items"]]
        await world.settle()
        yield world


async def together(*calls: Any) -> list[Any]:
    return list(await asyncio.gather(*calls))
