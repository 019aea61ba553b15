"""A publisher whose controller serves other tenants."""

from dataclasses import dataclass

from tests_support.agents import Json
from tests_support.apps import AppSite, Controller


@dataclass
class Served:
    """`publisher` runs the controller; `tenant` and `stranger` may launch its app."""

    publisher: AppSite
    tenant: AppSite
    stranger: AppSite
    binding_id: str

    @property
    def controller(self) -> Controller:
        return self.publisher.controller

    async def consent(self, tenant: AppSite | None = None, **body: object) -> Json:
        who = tenant or self.tenant
        return await who.admin.post(f"/tenants/{who.tenant_id}/controller-consents", {"app": "echo", **body})

    async def withdraw(self, consent: Json, reason: str = "enough") -> Json:
        path = f"/tenants/{consent['tenant_id']}/controller-consents/{consent['id']}/withdraw"
        return await self.publisher.admin.post(path, {"reason": reason})

    async def beat(self, replica: str = "replica-1", **more: object) -> Json:
        path = f"{self.publisher.path}/controller/heartbeat"
        body = {"app": "echo", "replica": replica, "version": "0.1.0", **more}
        answer = await self.controller.person.call("PUT", path, body)
        assert answer.status_code == 200, answer.text
        found: Json = answer.json()
        return found

    async def work(self) -> list[Json]:
        path = f"{self.publisher.path}/controller/work?replica=replica-1"
        found: list[Json] = (await self.controller.person.get(path))["items"]
        return found
