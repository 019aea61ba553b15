"""People in front of browsers: cookies are kept, and a page knows its CSRF token."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import httpx

from tests_support.people import PASSWORD, World, build

OWN = "http://test"
GRANT = {"grant_type": "password", "username": "ann@acme.test", "password": PASSWORD}
CHANGE = {"current_password": "wrong", "new_password": "another fine phrase"}


@dataclass
class Browser:
    """Keeps cookies, knows the CSRF token of the page that it shows, and says where a request comes from."""

    client: httpx.AsyncClient
    csrf_token: str = ""

    async def sign_in(self, password: str = PASSWORD, **headers: str) -> httpx.Response:
        headers = {"Origin": OWN, **headers}
        answer = await self.client.post("/auth/session", json={**GRANT, "password": password}, headers=headers)
        if answer.status_code == 200:
            self.csrf_token = answer.json()["csrf_token"]
        return answer

    async def change(self, method: str = "DELETE", path: str = "/auth/session", **options: object) -> httpx.Response:
        headers = {"Origin": OWN, "X-CSRF-Token": self.csrf_token, **options.pop("headers", {})}  # type: ignore[dict-item]
        return await self.client.request(method, path, headers=headers, **options)  # type: ignore[arg-type]

    async def code(self, path: str = "/me") -> str:
        """What the platform says to the cookie: `ok`, or the code of the refusal."""
        answer = await self.client.get(path)
        return "ok" if answer.status_code == 200 else str(answer.json()["code"])


@asynccontextmanager
async def another(world: World, base_url: str = OWN) -> AsyncIterator[Browser]:
    """A browser with nothing in it; the world's own client is everybody's, and must hold no cookie."""
    app = build(world.platform)
    async with app.state.gate.running():
        transport = httpx.ASGITransport(app=app, client=("192.0.2.7", 1))
        async with httpx.AsyncClient(transport=transport, base_url=f"{base_url}/api/v1") as client:
            yield Browser(client)


async def denials(world: World) -> list[tuple[object, object]]:
    rows = await world.audit(outcome="denied")
    return [(row["action"], row["details"]["why"]) for row in rows]  # type: ignore[index]
