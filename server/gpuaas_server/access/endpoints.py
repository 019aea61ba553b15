"""Machine access over HTTP: SSH keys of people, certificates and grants for allocations, the CA's public keys."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.access import (
    certificates,
    client_certificate_endpoints,
    credential_endpoints,
    grants,
    platform_key_endpoints,
    user_keys,
)
from gpuaas_server.access.schemas import (
    IssuedSshCertificates,
    RevokedSshCertificates,
    SshCa,
    SshCertificate,
    SshCertificateCreate,
    SshCertificateRevoke,
    SshGrant,
    SshGrantCreate,
    SshKey,
    SshKeyCreate,
)
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageLimit, PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import add_routes, api_router
from gpuaas_server.kernel.ids import AllocationId, GrantId, ProjectId, SshKeyId
from gpuaas_server.pki import service as pki

router = api_router(tags=["access"])
_CHANGE = ("idempotency_mismatch", "idempotency_in_progress")
_ALLOCATION = "/projects/{project_id}/allocations/{allocation_id}"


@router.get("/ssh-ca", response_model=SshCa, responses=problem_responses())
async def ssh_ca_show(call: Annotated[Call, admitted("ssh_ca_show")]) -> Response:
    """Show the SSH certificate authorities: those that hosts trust for logins, and those that clients trust for host keys."""

    async def show(connection: Connection) -> SshCa:
        return SshCa(
            user_ca_keys=await pki.user_ca_keys(connection),
            host_ca_keys=await pki.host_ca_keys(connection),
        )

    return await call.read(show)


@router.get("/me/ssh-keys", response_model=Page[SshKey], responses=problem_responses())
async def ssh_key_list(
    call: Annotated[Call, admitted("ssh_key_list")],
    page: PageQuery,
) -> Response:
    """List your stored public keys, newest first."""
    return await call.read(lambda connection: user_keys.ssh_key_list(connection, call.actor.id, page))


@router.post(
    "/me/ssh-keys",
    status_code=201,
    response_model=SshKey,
    responses=problem_responses("ssh_key_refused", "already_exists", *_CHANGE),
)
async def ssh_key_create(body: SshKeyCreate, call: Annotated[Call, admitted_change("ssh_key_create")]) -> Response:
    """Store one of your public keys, so that you can name it in an allocation or a grant. Each key is stored once."""
    return await call.change(lambda tx: user_keys.ssh_key_create(tx, body), status=201)


@router.delete("/me/ssh-keys/{ssh_key_id}", status_code=204, responses=problem_responses(*_CHANGE))
async def ssh_key_delete(ssh_key_id: SshKeyId, call: Annotated[Call, admitted_change("ssh_key_delete")]) -> Response:
    """Delete a stored key. Grants made from it are copies: they stay until they expire or are revoked."""
    return await call.change(lambda tx: user_keys.ssh_key_delete(tx, ssh_key_id))


@router.post(
    f"{_ALLOCATION}/ssh-certificates",
    status_code=201,
    response_model=SshCertificate,
    responses=problem_responses("ssh_key_refused", "source_addresses_needed", "not_active", *_CHANGE),
)
async def ssh_certificate_create(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: SshCertificateCreate,
    call: Annotated[Call, admitted_change("ssh_certificate_create")],
) -> Response:
    """Sign a login certificate for an active allocation, valid for an hour at most. Nothing secret is stored or sent."""
    platform = call.platform
    authority = pki.signer(await pki.live_keys(platform, "ssh_user_ca"), platform.clock())
    settings = platform.settings
    return await call.change(
        lambda tx: certificates.ssh_certificate_create(tx, project_id, allocation_id, body, authority, settings),
        status=201,
    )


@router.get(f"{_ALLOCATION}/ssh-certificates", response_model=IssuedSshCertificates, responses=problem_responses())
async def ssh_certificate_list(
    project_id: ProjectId,
    allocation_id: AllocationId,
    call: Annotated[Call, admitted("ssh_certificate_list")],
    after: Annotated[
        str | None, Query(pattern="^[1-9][0-9]{0,17}$", description="Cursor: `next_cursor` of the previous page.")
    ] = None,
    limit: PageLimit = 50,
) -> Response:
    """List the SSH certificates of the allocation, newest first."""
    before = None if after is None else int(after)
    return await call.read(
        lambda connection: certificates.ssh_certificate_list(connection, project_id, allocation_id, before, limit)
    )


@router.post(
    f"{_ALLOCATION}/ssh-certificates/revoke",
    response_model=RevokedSshCertificates,
    responses=problem_responses(*_CHANGE),
)
async def ssh_certificate_revoke(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: SshCertificateRevoke,
    call: Annotated[Call, admitted_change("ssh_certificate_revoke")],
) -> Response:
    """Revoke SSH certificates: your own, or anyone's as an administrator. The host ends the sessions that they opened."""
    caller = call.caller
    return await call.change(lambda tx: certificates.ssh_certificate_revoke(tx, allocation_id, body, caller))


@router.get(f"{_ALLOCATION}/ssh-grants", response_model=Page[SshGrant], responses=problem_responses())
async def ssh_grant_list(
    project_id: ProjectId,
    allocation_id: AllocationId,
    call: Annotated[Call, admitted("ssh_grant_list")],
    page: PageQuery,
) -> Response:
    """List the SSH grants of the allocation, newest first, with expired and revoked ones."""
    return await call.read(lambda connection: grants.ssh_grant_list(connection, project_id, allocation_id, page))


@router.post(
    f"{_ALLOCATION}/ssh-grants",
    status_code=201,
    response_model=SshGrant,
    responses=problem_responses("ssh_key_refused", "not_active", *_CHANGE),
)
async def ssh_grant_create(
    project_id: ProjectId,
    allocation_id: AllocationId,
    body: SshGrantCreate,
    call: Annotated[Call, admitted_change("ssh_grant_create")],
) -> Response:
    """Put a public key on the allocation until `expires_at`. The host installs and removes it."""
    return await call.change(lambda tx: grants.ssh_grant_create(tx, project_id, allocation_id, body), status=201)


@router.delete(f"{_ALLOCATION}/ssh-grants/{{grant_id}}", status_code=204, responses=problem_responses(*_CHANGE))
async def ssh_grant_delete(
    project_id: ProjectId,
    allocation_id: AllocationId,
    grant_id: GrantId,
    call: Annotated[Call, admitted_change("ssh_grant_delete")],
) -> Response:
    """Revoke an SSH grant: the host removes the key now."""
    return await call.change(lambda tx: grants.ssh_grant_delete(tx, project_id, allocation_id, grant_id))


add_routes(router, platform_key_endpoints.router, client_certificate_endpoints.router, credential_endpoints.router)
