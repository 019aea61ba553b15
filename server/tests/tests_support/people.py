"""A platform for tests: identity, projects and the catalogue served over HTTP from the real database."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta

import httpx
from fastapi import FastAPI

from gpuaas_server.access import member_endpoints as members
from gpuaas_server.admission.gate import IdentityGate
from gpuaas_server.audit import endpoints as audit
from gpuaas_server.catalog import endpoints as catalog
from gpuaas_server.identity import endpoints as identity
from gpuaas_server.identity.service import ensure_first_admin
from gpuaas_server.kernel.clock import utc_now
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.http.edge import Edge
from gpuaas_server.kernel.http.problems import install_problem_handlers
from gpuaas_server.kernel.http.routers import add_routes
from gpuaas_server.projects import endpoints as projects
from gpuaas_server.wiring import connect_hooks

PASSWORD = "correct horse battery"


class MovableClock:
    def __init__(self) -> None:
        self.ahead = timedelta()
        self._stopped: datetime | None = None

    def __call__(self) -> datetime:
        return (self._stopped or utc_now()) + self.ahead

    def stop(self) -> None:
        """From now on time passes only by `forward`: a busy machine changes nothing."""
        self._stopped = self._stopped or utc_now()

    def forward(self, seconds: float) -> None:
        self.ahead += timedelta(seconds=seconds)

    def begin_minute(self) -> None:
        """Stop at the beginning of the next minute: what is counted by the minute begins anew, and stays in it."""
        self.stop()
        self.forward(60 - self().second)


def build(platform: Platform) -> FastAPI:
    connect_hooks()
    app = FastAPI(generate_unique_id_function=lambda route: route.name)
    app.state.platform = platform
    app.state.gate = IdentityGate(platform)
    install_problem_handlers(app)
    nouns = (identity, projects, members, catalog, audit)
    add_routes(app.router, *(noun.router for noun in nouns), identity.well_known)
    app.add_middleware(Edge, max_body_bytes=100_000)
    return app


@asynccontextmanager
async def serving(platform: Platform) -> AsyncIterator[httpx.AsyncClient]:
    app = build(platform)
    transport = httpx.ASGITransport(app=app, client=("192.0.2.1", 1))
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(app.state.gate.running())
        yield await stack.enter_async_context(httpx.AsyncClient(transport=transport, base_url="http://test/api/v1"))


@asynccontextmanager
async def calling_from(client: httpx.AsyncClient, address: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the same server at another address."""
    app = client._transport.app  # type: ignore[attr-defined]
    transport = httpx.ASGITransport(app=app, client=(address, 1))
    async with httpx.AsyncClient(transport=transport, base_url=client.base_url) as other:
        yield other


async def sign_in(client: httpx.AsyncClient, username: str, password: str = PASSWORD) -> str:
    answer = await token_request(client, username, password)
    assert answer.status_code == 200, answer.text
    return str(answer.json()["access_token"])


async def token_request(client: httpx.AsyncClient, username: str, password: str) -> httpx.Response:
    body = {"grant_type": "password", "username": username, "password": password}
    return await client.post("/auth/token", json=body)


async def account_token(client: httpx.AsyncClient, account_id: str, secret: str) -> httpx.Response:
    body = {"grant_type": "client_credentials", "client_id": account_id, "client_secret": secret}
    return await client.post("/auth/token", json=body)


@dataclass
class Person:
    """Somebody with a token; calls read like what they do."""

    client: httpx.AsyncClient
    id: str
    email: str
    token: str

    async def call(self, method: str, path: str, **options: object) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.token}", **options.pop("headers", {})}  # type: ignore[dict-item]
        return await self.client.request(method, path, headers=headers, **options)  # type: ignore[arg-type]

    async def get(self, path: str) -> httpx.Response:
        return await self.call("GET", path)

    async def made(self, path: str, body: object) -> dict[str, object]:
        answer = await self.call("POST", path, json=body)
        assert answer.status_code == 201, answer.text
        found: dict[str, object] = answer.json()
        return found


@dataclass
class World:
    platform: Platform
    client: httpx.AsyncClient
    admin: Person
    password: str  # the administrator's

    async def tenant(self, slug: str) -> str:
        return str((await self.admin.made("/tenants", {"slug": slug, "name": slug.title()}))["id"])

    async def project(self, tenant_id: str, slug: str) -> str:
        body = {"slug": slug, "name": slug.title()}
        return str((await self.admin.made(f"/tenants/{tenant_id}/projects", body))["id"])

    async def person(
        self, email: str, tenant_id: str | None = None, role: str | None = None, project_id: str | None = None
    ) -> Person:
        path = f"/tenants/{tenant_id}/users" if tenant_id else "/users"
        user = await self.admin.made(path, {"email": email, "name": email, "password": PASSWORD})
        if role is not None:
            await self.give(str(user["id"]), role, tenant_id, project_id)
        return Person(self.client, str(user["id"]), email, await sign_in(self.client, email))

    async def give(self, user_id: str, role: str, tenant_id: str | None = None, project_id: str | None = None) -> None:
        if project_id is not None:
            path = f"/projects/{project_id}/members/{user_id}"
        elif tenant_id is not None:
            path = f"/tenants/{tenant_id}/members/{user_id}"
        else:
            path = f"/users/{user_id}/platform-role"
        answer = await self.admin.call("PUT", path, json={"role": role})
        assert answer.status_code == 200, answer.text

    async def audit(self, **wanted: str) -> list[dict[str, object]]:
        answer = await self.admin.call("GET", "/audit", params={"limit": "200", **wanted})
        assert answer.status_code == 200, answer.text
        rows: list[dict[str, object]] = answer.json()["items"]
        return rows


@asynccontextmanager
async def opened(platform: Platform) -> AsyncIterator[World]:
    async with serving(platform) as client:
        first = await ensure_first_admin(platform)
        assert first is not None
        token = await sign_in(client, first.email, first.password)
        me = (await client.get("/me", headers={"Authorization": f"Bearer {token}"})).json()
        yield World(platform, client, Person(client, me["id"], first.email, token), first.password)
