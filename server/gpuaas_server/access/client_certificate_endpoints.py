"""Client certificates of service accounts over HTTP."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.access import client_certificates
from gpuaas_server.access.schemas import NewServiceAccountCertificate, ServiceAccountCertificateCreate
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.schemas import ServiceAccountCertificate
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import ProjectId, ServiceAccountCertificateId, ServiceAccountId

router = api_router(
    prefix="/projects/{project_id}/service-accounts/{service_account_id}/certificates",
    tags=["access", "service accounts"],
)


@router.post(
    "",
    status_code=201,
    response_model=NewServiceAccountCertificate,
    responses=problem_responses("certificate_request_invalid", "conflict", "secret_store_unavailable"),
)
async def service_account_certificate_create(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    body: ServiceAccountCertificateCreate,
    call: Annotated[Call, admitted_change("service_account_certificate_create")],
) -> Response:
    """Sign a certificate request of a program, which keeps its private key. Older certificates stay valid."""
    signed = await client_certificates.sign_client_certificate(call.platform, service_account_id, body)
    return await call.change(lambda tx: client_certificates.certificate_create(tx, project_id, signed), status=201)


@router.get("", response_model=Page[ServiceAccountCertificate], responses=problem_responses())
async def service_account_certificate_list(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    call: Annotated[Call, admitted("service_account_certificate_list")],
    page: PageQuery,
) -> Response:
    """List the client certificates of the account, newest first, with their last use."""
    return await call.read(
        lambda connection: identity.certificate_list(connection, project_id, service_account_id, page)
    )


@router.delete("/{certificate_id}", status_code=204, responses=problem_responses())
async def service_account_certificate_delete(
    project_id: ProjectId,
    service_account_id: ServiceAccountId,
    certificate_id: ServiceAccountCertificateId,
    call: Annotated[Call, admitted_change("service_account_certificate_delete")],
) -> Response:
    """End a client certificate now, with the tokens that are bound to it."""
    return await call.change(lambda tx: identity.certificate_delete(tx, project_id, service_account_id, certificate_id))
