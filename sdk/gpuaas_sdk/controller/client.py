"""The API client of one controller replica: it polls for operations and claims them."""

from collections.abc import Sequence
from dataclasses import dataclass

from gpuaas_sdk.aio import AsyncClient
from gpuaas_sdk.controller.lease import Lease
from gpuaas_sdk.errors import Conflict, NotFound
from gpuaas_sdk.generated.models import Operation, WorkItem

POLL_SECONDS = 30


@dataclass(frozen=True, slots=True)
class ControllerClient:
    """An `AsyncClient` bound to one project and to the name of one replica."""

    api: AsyncClient
    project_id: str
    replica: str

    async def poll(self) -> Sequence[WorkItem]:
        """Return the operations that wait for a controller. The server holds the call open until there is one."""
        return await self.api.controller.poll(self.project_id, wait=POLL_SECONDS)

    async def claim(self, operation_id: str) -> Lease | None:
        """Claim an operation. Returns None when another replica was faster or the operation has ended."""
        try:
            claimed = await self.api.controller.claim(self.project_id, operation_id, self.replica)
        except (Conflict, NotFound):
            return None
        return Lease(self.api, self.project_id, claimed)

    async def list_own_operations(self) -> list[str]:
        """Return the operations that a replica of this name had claimed before it ended; it may resume them immediately."""
        claimed, running = await self._list_with_status("claimed"), await self._list_with_status("running")
        return [one.id for one in (*claimed, *running) if one.replica == self.replica and one.phase is None]

    async def _list_with_status(self, status: str) -> list[Operation]:
        return await self.api.operations.list(self.project_id, status=status).all()
