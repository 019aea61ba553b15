"""Machine access for the controller that holds an operation's lease."""

from typing import Annotated

from fastapi import APIRouter
from starlette.responses import Response

from gpuaas_server.access import operation_access
from gpuaas_server.access.issuing import requester_sources
from gpuaas_server.access.operation_access import WayIn
from gpuaas_server.access.operation_schemas import MachineAccessCreate
from gpuaas_server.access.schemas import MachineAccess
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.http.call import Call, admitted_change
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.ids import OperationId, ProjectId
from gpuaas_server.operations import service as operations
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import read_public_key

router = APIRouter(tags=["access"])
_CODES = ("ssh_key_refused", "lease_lost", "not_the_controller", "idempotency_mismatch", "idempotency_in_progress")


@router.post(
    "/projects/{project_id}/operations/{operation_id}/machine-access",
    status_code=201,
    response_model=MachineAccess,
    responses=problem_responses(*_CODES),
)
async def operation_machine_access(
    project_id: ProjectId,
    operation_id: OperationId,
    body: MachineAccessCreate,
    call: Annotated[Call, admitted_change("operation_machine_access")],
) -> Response:
    """Certificates for the allocations of an operation whose lease you hold: an hour at most, and they end with it."""
    platform, actor = call.platform, call.actor
    public = read_public_key(body.public_key)
    authority = pki.signer(await pki.live_keys(platform, "ssh_user_ca"), platform.clock())
    sources = requester_sources(actor, platform.settings)

    async def issue(tx: Tx) -> MachineAccess:
        await operation_access.operation_hold(tx, operation_id)
        leased = await operations.lease_of(
            tx.connection, call.caller, project_id, operation_id, body.lease_token, actor, tx.now
        )
        return await operation_access.operation_certificates_issue(tx, leased, WayIn(public, authority, sources))

    return await call.change(issue, status=201)
