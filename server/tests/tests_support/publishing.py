"""A tenant that publishes apps, and another that would like to use them; everything over HTTP, from the real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.ids import new_id
from tests_support.manifests import DIGEST, version_text
from tests_support.people import Person, World

Json = dict[str, Any]


@dataclass
class Publishing:
    world: World
    tenant_id: str
    project_id: str
    publisher: Person  # project_admin there
    other_tenant_id: str
    other_project_id: str
    user: Person  # project_member of the other

    @property
    def path(self) -> str:
        return f"/projects/{self.project_id}/apps"

    async def register(self, version: str = "1.2.0", **changes: Any) -> Json:
        return await self.publisher.made(
            f"/projects/{self.project_id}/app-versions", {"manifest": version_text(version, **changes)}
        )

    async def artifact(self, stage: str = "active", trust: str = "verified", digest: str = DIGEST) -> str:
        """A row as publishing leaves it; how it comes about is the other room's story."""
        place = (new_id("art"), self.tenant_id, self.project_id, digest, stage, trust)
        async with self.world.platform.database.connection(PLATFORM) as connection:
            await connection.execute(
                "INSERT INTO artifacts (id, tenant_id, project_id, digest, stage, trust, kind, name, size_bytes,"
                " media_type, location, stage_since, trust_detail, signed_by, signatures, created_by, created_at)"
                " VALUES (%s, %s, %s, %s, %s, %s, 'blob', 'tool', 1, 'application/octet-stream', 'x', now(), '', '{}',"
                " '{}', 'usr_x', now())",
                place,
            )
        return place[0]

    async def artifact_set(self, artifact_id: str, **columns: str) -> None:
        changes = ", ".join(f"{column} = %({column})s" for column in columns)
        async with self.world.platform.database.connection(PLATFORM) as connection:
            await connection.execute(
                f"UPDATE artifacts SET {changes} WHERE id = %(id)s", {**columns, "id": artifact_id}
            )

    async def move(self, version: Json, verb: str, body: object = None, who: Person | None = None) -> Json:
        """The answer's body, with its status under `http`."""
        path = f"{self.path}/{version['app_id']}/versions/{version['id']}/{verb}"
        answer = await (who or self.publisher).call("POST", path, json=body)
        return {**answer.json(), "http": answer.status_code}

    async def active(self, version: str = "1.2.0", **changes: Any) -> Json:
        registered = await self.register(version, **changes)
        moved = await self.move(registered, "activate")
        assert moved["http"] == 200, moved
        return moved

    async def show_to(self, app_id: str, visibility: str) -> None:
        body = {"visibility": visibility, "reason": "as agreed"}
        answer = await self.world.admin.call("PUT", f"/apps/{app_id}/visibility", json=body)
        assert answer.status_code == 200, answer.text

    async def catalog(self, who: Person, project_id: str, **query: str) -> list[Json]:
        answer = await who.call("GET", f"/projects/{project_id}/catalog", params=query)
        assert answer.status_code == 200, answer.text
        items: list[Json] = answer.json()["items"]
        return items


@asynccontextmanager
async def opened(world: World) -> AsyncIterator[Publishing]:
    acme, other = await world.tenant("acme"), await world.tenant("other")
    forge, lab = await world.project(acme, "forge"), await world.project(other, "lab")
    publisher = await world.person("maker@acme.test", acme, "project_admin", forge)
    user = await world.person("user@other.test", other, "project_member", lab)
    yield Publishing(world, acme, forge, publisher, other, lab, user)
