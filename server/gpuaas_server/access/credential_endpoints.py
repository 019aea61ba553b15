"""Access credentials over HTTP. Sealing and opening happen before the transaction: the store may be another machine."""

from datetime import timedelta
from typing import Annotated

from starlette.responses import Response

from gpuaas_server.access import credentials, deliveries
from gpuaas_server.access.credential_schemas import (
    AccessCredential,
    AccessCredentialCreate,
    AccessCredentialDeliver,
    AccessCredentialRevoke,
    AccessCredentialRotate,
    CredentialDelivery,
    NewCredentialDelivery,
)
from gpuaas_server.access.custody import Custody, with_new_key
from gpuaas_server.access.rows import CredentialRow
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import CredentialId, ProjectId
from gpuaas_server.pki import service as pki
from gpuaas_server.secrets.service import SecretRef

router = api_router(tags=["access"])
_CREDENTIALS = "/projects/{project_id}/access-credentials"
_CREDENTIAL = f"{_CREDENTIALS}/{{credential_id}}"
_CHANGE = ("secret_store_unavailable", "idempotency_mismatch", "idempotency_in_progress")


@router.post(
    _CREDENTIALS,
    status_code=201,
    response_model=AccessCredential,
    responses=problem_responses("already_exists", *_CHANGE),
)
async def access_credential_create(
    project_id: ProjectId,
    body: AccessCredentialCreate,
    call: Annotated[Call, admitted_change("access_credential_create")],
) -> Response:
    """Create a credential: a name to get certificates under (nothing is stored), or a key pair whose private key the platform
    keeps.
    """
    tenant_id, caller = call.caller.tenant_id, call.caller

    async def create(custody: Custody | None) -> Response:
        return await call.change(
            lambda tx: credentials.access_credential_create(tx, body, caller, custody),
            status=201,
        )

    if body.kind == "ssh_certificate":
        return await create(None)
    return await with_new_key(call.platform, tenant_id, project_id, None, create)


@router.get(_CREDENTIALS, response_model=Page[AccessCredential], responses=problem_responses())
async def access_credential_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("access_credential_list")],
    page: PageQuery,
) -> Response:
    """List the credentials of the project, newest first, with revoked ones."""
    caller = call.caller
    return await call.read(lambda connection: credentials.access_credential_list(connection, page, caller))


@router.get(_CREDENTIAL, response_model=AccessCredential, responses=problem_responses())
async def access_credential_show(
    project_id: ProjectId, credential_id: CredentialId, call: Annotated[Call, admitted("access_credential_show")]
) -> Response:
    """Show a credential and its public key. A private key is only ever in a delivery, sealed."""
    caller = call.caller
    return await call.read(lambda connection: credentials.access_credential_show(connection, credential_id, caller))


@router.post(
    f"{_CREDENTIAL}/rotate",
    response_model=AccessCredential,
    responses=problem_responses("credential_revoked", *_CHANGE),
)
async def access_credential_rotate(
    project_id: ProjectId,
    credential_id: CredentialId,
    body: AccessCredentialRotate,
    call: Annotated[Call, admitted_change("access_credential_rotate")],
) -> Response:
    """Replace the key pair of a credential on every allocation that has it."""
    row, caller = await _read(call, project_id, credential_id), call.caller
    credentials.require_not_revoked(row)
    if row.kind != "ssh_key":
        raise Problem("conflict", "A credential of kind ssh_certificate has no stored key, so it cannot be rotated.")
    call.require_match(row.generation)
    overlap = timedelta(minutes=body.overlap_minutes)
    ref = SecretRef(credentials.secret_id_of(row), row.version + 1)
    return await with_new_key(
        call.platform,
        row.tenant_id,
        project_id,
        ref,
        lambda custody: call.change(lambda tx: credentials.access_credential_rotate(tx, row, overlap, caller, custody)),
    )


@router.post(f"{_CREDENTIAL}/revoke", response_model=AccessCredential, responses=problem_responses(*_CHANGE))
async def access_credential_revoke(
    project_id: ProjectId,
    credential_id: CredentialId,
    body: AccessCredentialRevoke,
    call: Annotated[Call, admitted_change("access_credential_revoke")],
) -> Response:
    """Revoke a credential. Its key is removed from the hosts, its certificates end, and its private key is destroyed."""
    caller = call.caller
    return await call.change(lambda tx: credentials.access_credential_revoke(tx, credential_id, body.reason, caller))


@router.post(
    f"{_CREDENTIAL}/deliveries",
    status_code=201,
    response_model=NewCredentialDelivery,
    responses=problem_responses(
        *("credential_revoked", "ssh_key_refused", "source_addresses_needed", "not_active", "secret_unreadable"),
        *_CHANGE,
    ),
)
async def access_credential_deliver(
    project_id: ProjectId,
    credential_id: CredentialId,
    body: AccessCredentialDeliver,
    call: Annotated[Call, admitted_change("access_credential_deliver")],
) -> Response:
    """Get the private key, sealed to your X25519 key, or a certificate for your SSH key. Each delivery is logged."""
    platform = call.platform
    row = await _read(call, project_id, credential_id)
    if row.kind == "ssh_key":
        sealed = await deliveries.seal_private_key(platform, call.admission.scope, row, body.recipient_key)
        return await call.change(
            lambda tx: deliveries.private_key_deliver(tx, project_id, credential_id, sealed), status=201
        )
    authority = pki.signer(await pki.live_keys(platform, "ssh_user_ca"), platform.clock())
    settings = platform.settings
    return await call.change(
        lambda tx: deliveries.certificate_deliver(tx, project_id, credential_id, body, authority, settings), status=201
    )


@router.get(f"{_CREDENTIAL}/deliveries", response_model=Page[CredentialDelivery], responses=problem_responses())
async def credential_delivery_list(
    project_id: ProjectId,
    credential_id: CredentialId,
    call: Annotated[Call, admitted("credential_delivery_list")],
    page: PageQuery,
) -> Response:
    """List the deliveries of a credential, newest first: who received which version, and for which key."""
    return await call.read(
        lambda connection: deliveries.credential_delivery_list(connection, project_id, credential_id, page)
    )


async def _read(call: Call, project_id: str, credential_id: str) -> CredentialRow:
    async with call.platform.database.connection(call.admission.scope) as connection:
        return await credentials.present(connection, project_id, credential_id)
