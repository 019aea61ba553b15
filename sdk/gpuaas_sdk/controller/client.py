"""The API client of one controller replica: it polls for operations and claims them."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.errors import Conflict, NotFound
from gpuaas_sdk.generated.models import HeartbeatAccepted, ServedInstance, WorkItem

POLL_SECONDS = 30


@dataclass(frozen=True, slots=True)
class ControllerClient:
    """An `AsyncClient` bound to the project of its service account and to the name of one replica.

    What it works on may be in other projects, of tenants that consent to this controller.
    """

    api: AsyncClient
    project_id: str
    replica: str

    async def poll(self, without_tenants: Sequence[str] = ()) -> Sequence[WorkItem]:
        """Return the operations that wait for a controller, except of these tenants. The server holds the call open until
        there is one; it answers with none when the time is over, or when an app is bound to the service account.
        """
        return await self.api.controller.poll(
            self.project_id, replica=self.replica, wait=POLL_SECONDS, without_tenant=without_tenants or None
        )

    async def claim(self, operation_id: str, project_id: str | None = None) -> Lease | None:
        """Claim an operation. Returns None when another replica was faster or the operation has ended."""
        where = project_id or self.project_id
        try:
            claimed = await self.api.controller.claim(where, operation_id, self.replica)
        except (Conflict, NotFound):
            return None
        return Lease(self.api, where, claimed)

    async def list_own_operations(self) -> Sequence[WorkItem]:
        """Return the operations that a replica of this name had claimed before it ended; it may resume them immediately."""
        return await self.api.controller.poll(self.project_id, replica=self.replica, claimed=True)

    async def list_instances(self, app: str) -> AsyncIterator[ServedInstance]:
        """Yield the running instances that this controller serves, a page at a time."""
        async for one in self.api.controller.instances(self.project_id, app=app):
            yield one

    async def list_bound_apps(self) -> Sequence[str]:
        """Return the slugs of the apps that the service account is bound to now."""
        return (await self.api.me.show()).app_slugs or []

    async def send_heartbeat(self, app: str, version: str | None, stopping: bool = False) -> HeartbeatAccepted:
        """Report that this replica is alive, or that it ends. Without a live replica, launches of the app are refused."""
        send = self.api.controller.heartbeat
        return await send(self.project_id, app, self.replica, version=version, stopping=stopping or None)
