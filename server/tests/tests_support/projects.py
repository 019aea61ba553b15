"""A project, with a person for each role and a program for each scope. `furnished` gives it active allocations."""

import base64
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from gpuaas_server.kernel.database import PLATFORM
from tests_support.agents import Json, Person, Site, inventory, slot
from tests_support.select import select

PASSWORD = "correct horse battery"
SUITE = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)


@dataclass
class Project:
    site: Site
    tenant: str
    id: str
    allocations: list[str]

    @property
    def path(self) -> str:
        return f"/projects/{self.id}"

    @property
    def credentials(self) -> str:
        return f"{self.path}/access-credentials"

    async def person(self, role: str) -> Person:
        email = f"{role.replace('_', '-')}@acme.test"
        body = {"email": email, "name": role, "password": PASSWORD}
        user = await self.site.admin.post(f"/tenants/{self.tenant}/users", body)
        await self.site.admin.call("PUT", f"{self.path}/members/{user['id']}", {"role": role})
        grant = {"grant_type": "password", "username": email, "password": PASSWORD}
        return Person(self.site.client, (await self.site.client.post("/auth/token", json=grant)).json()["access_token"])

    async def program(self, *scopes: str) -> Person:
        made = await self.site.admin.post(f"{self.path}/service-accounts", {"name": "robot", "scopes": list(scopes)})
        account = {"client_id": made["id"], "client_secret": made["key"]["secret"]}
        answer = await self.site.client.post("/auth/token", json={"grant_type": "client_credentials", **account})
        return Person(self.site.client, answer.json()["access_token"])

    async def sql(self, statement: str, *values: object) -> list[Json]:
        async with self.site.platform.database.connection(PLATFORM) as connection:
            cursor = await select(connection, statement, values)
            return list(await cursor.fetchall()) if cursor.description else []


async def empty(site: Site) -> Project:
    """A new project in a new tenant."""
    tenant = (await site.admin.post("/tenants", {"slug": "acme", "name": "Acme"}))["id"]
    made = await site.admin.post(f"/tenants/{tenant}/projects", {"slug": "train", "name": "Train"})
    return Project(site, tenant, made["id"], [])


async def furnished(site: Site, allocations: int = 1) -> Project:
    """A new project with active allocations on an enrolled host."""
    host, admin = await site.host(), site.admin
    await host.call("POST", "/inventory", inventory(*(slot(index) for index in range(allocations))))
    await admin.post(f"/nodes/{host.node_id}/slots/approve", {})
    project = await empty(site)
    sku = {"name": "h100", "shape": "gpu_slice", "gpu_model": slot(0)["gpu_model"], "gpu_counts": [1]}
    await admin.post("/skus", sku | {"price_per_gpu_hour_minor": 200, "currency": "EUR"})
    body = {"sku": "h100", "gpu_count": 1, "count": allocations}
    made = await admin.post(f"{project.path}/allocations", body)
    project.allocations += [item["id"] for item in made["items"]]
    await project.sql(
        "UPDATE allocations SET state = 'active', ssh_address = '10.0.0.1', ssh_port = 22, ssh_user = 'gpu'"
    )
    return project


@dataclass
class Recipient:
    """Somebody with an X25519 key of their own."""

    private: X25519PrivateKey

    @classmethod
    def new(cls) -> "Recipient":
        return cls(X25519PrivateKey.generate())

    @property
    def key(self) -> str:
        return base64.b64encode(self.private.public_key().public_bytes_raw()).decode()

    def open(self, sealed: Json) -> bytes:
        return SUITE.decrypt(base64.b64decode(sealed["box"]), self.private, info=sealed["info"].encode())
