"""A project that publishes, and a worker that runs the reconcilers of artifacts step by step."""

import hashlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from gpuaas_server.artifacts.jobs import ArtifactCheckJob, ArtifactDeleteJob
from gpuaas_server.artifacts.reconciler import PublishIntentReconciler
from gpuaas_server.kernel.context import Platform, system_actor
from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Person, Site, opened
from tests_support.select import select

Json = dict[str, Any]


def digest_of(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


@dataclass
class Workshop:
    site: Site
    tenant_id: str
    project_id: str

    @property
    def platform(self) -> Platform:
        return self.site.platform

    @property
    def admin(self) -> Person:
        return self.site.admin

    @property
    def path(self) -> str:
        return f"/projects/{self.project_id}"

    async def intend(self, kind: str = "blob", name: str = "tool", **more: object) -> Json:
        return await self.admin.post(f"{self.path}/publish-intents", {"kind": kind, "name": name, **more})

    async def upload(self, intent: Json, content: Any) -> httpx.Response:
        """To where the intent says, as it says."""
        ticket = intent["upload"]
        headers = dict(ticket["headers"])
        if ticket["authorised"]:
            headers["Authorization"] = f"Bearer {self.admin.token}"
            path = ticket["url"].removeprefix("/api/v1")
            return await self.site.client.request(ticket["method"], path, content=content, headers=headers)
        async with httpx.AsyncClient(timeout=60) as outside:
            return await outside.request(ticket["method"], ticket["url"], content=content, headers=headers)

    async def parts(self, intent: Json, **wanted: int) -> Json:
        return await self.admin.post(f"{self.path}/publish-intents/{intent['id']}/parts", wanted)

    async def upload_part(self, part: Json, content: object) -> httpx.Response:
        """One part, to where it belongs. `content` is the blob, or other bytes than its own."""
        sent = content[part["offset"] :][: part["size_bytes"]] if isinstance(content, bytes) else content
        return await self.upload({"upload": part["upload"]}, sent)

    async def complete(self, intent: Json, digest: str) -> httpx.Response:
        body = {"digest": digest}
        return await self.admin.call("POST", f"{self.path}/publish-intents/{intent['id']}/complete", body)

    async def intent(self, intent: Json) -> Json:
        return await self.admin.get(f"{self.path}/publish-intents/{intent['id']}")

    async def work_on(self, kind: str) -> None:
        """Run the due work of one kind."""
        for step in self._steps():
            for subject in await self._due(step.kind) if step.kind == kind else ():
                await self._take(step, subject)

    async def work(self) -> None:
        """Run all due work of this project with the real reconcilers."""
        for step in self._steps():
            for subject in await self._due(step.kind):
                await self._take(step, subject)

    def _steps(self) -> tuple[Any, ...]:
        settings = self.platform.settings
        return (
            PublishIntentReconciler(settings),
            ArtifactCheckJob(),
            ArtifactDeleteJob(settings),
        )

    async def _due(self, kind: str) -> list[str]:
        async with self.platform.database.connection(PLATFORM) as connection:
            cursor = await select(
                connection,
                "SELECT subject FROM work_items WHERE kind = %s AND run_at <= %s",
                (kind, self.platform.clock()),
            )
            return [row["subject"] for row in await cursor.fetchall()]

    async def _take(self, step: Any, subject: str) -> None:
        async with self.platform.database.connection(PLATFORM) as connection:
            snapshot = await step.load(connection, subject)
        decided = (step.decide(snapshot, self.platform.clock()),) if hasattr(step, "decide") else ()
        outcome = await step.act(self.platform, snapshot, *decided)
        async with self.platform.transaction(PLATFORM, system_actor("worker/test")) as tx:
            again = await step.apply(tx, snapshot, outcome)
            if again is None:
                await tx.connection.execute(
                    "DELETE FROM work_items WHERE kind = %s AND subject = %s", (step.kind, subject)
                )
            else:
                await tx.connection.execute(
                    "UPDATE work_items SET run_at = %s WHERE kind = %s AND subject = %s",
                    (again, step.kind, subject),
                )

    async def publish_blob(self, content: bytes, name: str = "tool") -> Json:
        """A registered artifact, by the whole way."""
        intent = await self.intend(name=name)
        assert (await self.upload(intent, content)).status_code == 200
        assert (await self.complete(intent, digest_of(content))).status_code == 200
        await self.work()
        await self.work()
        registered = await self.intent(intent)
        assert registered["state"] == "registered", registered
        return await self.artifact(registered["artifact_id"])

    async def artifact(self, artifact_id: str) -> Json:
        return await self.admin.get(f"{self.path}/artifacts/{artifact_id}")

    async def evidence(self, artifact: Json, kind: str, passed: bool = True) -> None:
        body = {"kind": kind, "passed": passed, "tool": "hadolint 2.12", "summary": "as expected"}
        await self.admin.post(f"{self.path}/artifacts/{artifact['id']}/evidence", body)

    async def move(self, artifact: Json, stage: str, **more: object) -> httpx.Response:
        body = {"stage": stage, "reason": "the test goes on", **more}
        return await self.admin.call("POST", f"{self.path}/artifacts/{artifact['id']}/move", body)

    async def promote(self, artifact: Json, *stages: str) -> Json:
        for kind in ("lint", "smoke"):
            await self.evidence(artifact, kind)
        for stage in stages:
            answer = await self.move(artifact, stage, **({"canary_percent": 50} if stage == "canary" else {}))
            assert answer.status_code == 200, answer.text
        return await self.artifact(artifact["id"])


@asynccontextmanager
async def workshop(platform: Platform) -> AsyncIterator[Workshop]:
    async with opened(platform) as site:
        tenant = await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"})
        project = await site.admin.post(f"/tenants/{tenant['id']}/projects", {"slug": "tools", "name": "Tools"})
        yield Workshop(site, tenant["id"], project["id"])
