"""Concurrent clients: each request has an idempotency key and is retried at another replica until it is decided."""

import asyncio
import random
import time
from dataclasses import dataclass, field

import httpx
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from chaos.history import Attempt, History, JsonObject, Request

ANSWER_SECONDS = 4.0  # then the client leaves a frozen replica
TIMEOUT_SECONDS = 45.0  # for one request, over all attempts
LIVE = ("requested", "provisioning", "active")


def public_key() -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


@dataclass
class Session:
    """A user with a token, and the replicas that they may call."""

    name: str
    token: str
    replicas: dict[str, str]
    history: History
    dice: random.Random
    http: httpx.AsyncClient

    async def change(self, kind: str, method: str, path: str, **body: object) -> Request:
        """Send a request until it is decided or its time is over; sometimes repeat it, to compare the answers."""
        request = self.history.begin(kind, self.name, method, path, body)
        names = self.dice.sample(list(self.replicas), len(self.replicas))
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while request.answer is None and time.monotonic() < deadline:
            await self.attempt(request, names[len(request.attempts) % len(names)])
            if request.answer is None:
                await asyncio.sleep(self.dice.uniform(0.05, 0.5))
        if request.answer is not None and self.dice.random() < 0.2:
            await self.attempt(request, self.dice.choice(names))
        return request

    async def attempt(self, request: Request, replica: str) -> Attempt:
        attempt = self.history.attempt(request, replica)
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": request.key}
        url = f"{self.replicas[replica]}/api/v1{request.path}"
        body = None if request.method == "DELETE" else request.body
        try:
            answer = await self.http.request(request.method, url, json=body, headers=headers)
        except httpx.HTTPError:
            attempt.ended = time.monotonic()
            return attempt
        attempt.ended, attempt.status = time.monotonic(), answer.status_code
        attempt.body = _document(answer)
        attempt.code = str(attempt.body.get("code") or "") if answer.status_code >= 400 else ""
        return attempt

    async def read(self, path: str, seconds: float = TIMEOUT_SECONDS, **query: str | int) -> JsonObject | None:
        """Read from any replica that answers; None if none answered in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            replica = self.dice.choice(list(self.replicas))
            headers = {"Authorization": f"Bearer {self.token}"}
            try:
                answer = await self.http.get(f"{self.replicas[replica]}/api/v1{path}", params=query, headers=headers)
                if answer.status_code == 200:
                    return _document(answer)
            except httpx.HTTPError:
                pass
            await asyncio.sleep(self.dice.uniform(0.05, 0.5))
        return None


def _document(answer: httpx.Response) -> JsonObject:
    try:
        found = answer.json()
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def items_of(document: JsonObject | None) -> list[JsonObject]:
    found = (document or {}).get("items")
    return found if isinstance(found, list) else []


@dataclass
class Tenant:
    """One client that works in one project until it is stopped."""

    session: Session
    project_id: str
    tenant_id: str
    app_slug: str = ""
    stopping: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def path(self) -> str:
        return f"/projects/{self.project_id}"

    async def run(self) -> None:
        dice = self.session.dice
        lives = (self.live_slices, self.live_node, self.live_key, self.live_user)
        while not self.stopping.is_set():
            live = self.live_instance if self.app_slug else dice.choices(lives, (60, 12, 15, 10))[0]
            await live()
            await asyncio.sleep(dice.uniform(0.02, 0.3))

    async def live_slices(self) -> None:
        """Allocate slices, grant access, and release them."""
        dice = self.session.dice
        size = {"sku": "h100-slice", "gpu_count": dice.choice([1, 1, 2, 4]), "count": dice.choice([1, 1, 2, 3])}
        made = await self.allocate(size)
        if made and dice.random() < 0.6:
            await self.let_in(made[0])
        await self.release(*made)

    async def live_node(self) -> None:
        await self.release(*await self.allocate({"sku": "h100-node"}))

    async def live_key(self) -> None:
        made = await self.session.change("ssh_key_create", "POST", "/me/ssh-keys", name="{id}", public_key=public_key())
        if made.accepted and made.answer is not None:
            await self.session.change("ssh_key_delete", "DELETE", f"/me/ssh-keys/{made.answer.body['id']}")

    async def live_user(self) -> None:
        path = f"/tenants/{self.tenant_id}/users"
        password = "a-long-phrase-for-nobody"
        email = "{id}@example.test"
        await self.session.change("tenant_user_create", "POST", path, email=email, name="{id}", password=password)

    async def live_instance(self) -> None:
        """Run an app on a slice, from deployment to decommission."""
        made = await self.allocate({"sku": "h100-slice", "gpu_count": 1})
        if made and await self.active(made[0]):
            place = [{"component_key": "server", "allocation_id": made[0]}]
            path = f"{self.path}/instances"
            body: JsonObject = {"app": self.app_slug, "name": "{id}", "placement_intent": place}
            body["when_no_controller"] = "queue"  # controllers are killed too
            launched = await self.session.change("instance_create", "POST", path, **body)
            if launched.accepted and launched.answer is not None:
                await self.end_instance(launched.answer.body)
        await self.release(*made)

    async def end_instance(self, started: JsonObject) -> None:
        instance, operation = started["instance"], started["operation"]
        if not isinstance(instance, dict) or not isinstance(operation, dict):
            return
        await self.operation_ended(str(operation["id"]))
        path = f"{self.path}/instances/{instance['id']}/decommission"
        asked = await self.session.change("instance_decommission", "POST", path)
        if asked.accepted and asked.answer is not None and isinstance(asked.answer.body.get("operation"), dict):
            await self.operation_ended(str(asked.answer.body["operation"]["id"]))  # type: ignore[index]

    async def operation_ended(self, operation_id: str) -> None:
        while not self.stopping.is_set():
            seen = await self.session.read(f"{self.path}/operations/{operation_id}")
            if seen is None or seen.get("finished_at") is not None:
                return
            await asyncio.sleep(0.3)

    async def allocate(self, size: JsonObject) -> list[str]:
        path = f"{self.path}/allocations"
        made = await self.session.change("allocation_create", "POST", path, name="{id}", **size)
        if not made.accepted or made.answer is None:
            return []
        return [str(one["id"]) for one in items_of(made.answer.body)]

    async def active(self, allocation_id: str) -> bool:
        """Whether the allocation became active before the client was stopped."""
        while not self.stopping.is_set():
            seen = await self.session.read(f"{self.path}/allocations/{allocation_id}")
            if seen is None or seen["state"] not in LIVE:
                return False
            if seen["state"] == "active":
                return True
            await asyncio.sleep(0.2)
        return False

    async def let_in(self, allocation_id: str) -> None:
        if not await self.active(allocation_id):
            return
        path = f"{self.path}/allocations/{allocation_id}"
        if self.session.dice.random() < 0.5:
            wanted: JsonObject = {"public_key": public_key(), "source_addresses": ["192.0.2.1"]}
            await self.session.change("ssh_certificate_create", "POST", f"{path}/ssh-certificates", **wanted)
            return
        grant: JsonObject = {"public_key": public_key(), "expires_at": "2027-06-01T00:00:00Z", "note": "{id}"}
        made = await self.session.change("ssh_grant_create", "POST", f"{path}/ssh-grants", **grant)
        if made.accepted and made.answer is not None and self.session.dice.random() < 0.5:
            await self.session.change("ssh_grant_delete", "DELETE", f"{path}/ssh-grants/{made.answer.body['id']}")

    async def release(self, *allocation_ids: str) -> None:
        for allocation_id in allocation_ids:
            if self.session.dice.random() < 0.5 and not self.stopping.is_set():
                await self.active(allocation_id)
            path = f"{self.path}/allocations/{allocation_id}/release"
            await self.session.change("allocation_release", "POST", path)

    async def release_all(self) -> None:
        """Release everything in this project, even what its client does not know."""
        for state in LIVE:
            listed = await self.session.read(f"{self.path}/allocations", state=state, limit=200)
            await self.release(*(str(one["id"]) for one in items_of(listed)))
