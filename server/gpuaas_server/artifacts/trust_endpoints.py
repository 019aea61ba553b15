"""A tenant's trust policy and trust keys over HTTP."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.artifacts import trust
from gpuaas_server.artifacts.schemas import TrustKey, TrustKeyCreate, TrustKeyRevoke, TrustPolicy, TrustPolicySet
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import TenantId, TrustKeyId

router = api_router(prefix="/tenants/{tenant_id}", tags=["artifacts", "trust"])


@router.get("/trust-policy", response_model=TrustPolicy, responses=problem_responses())
async def trust_policy_show(tenant_id: TenantId, call: Annotated[Call, admitted("trust_policy_show")]) -> Response:
    """Show whether the tenant requires signatures. The default is false."""
    return await call.read(lambda connection: trust.trust_policy_show(connection, tenant_id))


@router.put("/trust-policy", response_model=TrustPolicy, responses=problem_responses("precondition_failed"))
async def trust_policy_set(
    tenant_id: TenantId, body: TrustPolicySet, call: Annotated[Call, admitted_change("trust_policy_set")]
) -> Response:
    """Set whether the tenant requires signatures. With `require_signature` it launches only what one of its trust keys
    signed.
    """
    match = call.require_match
    return await call.change(lambda tx: trust.trust_policy_set(tx, tenant_id, body, match))


@router.get("/trust-keys", response_model=Page[TrustKey], responses=problem_responses())
async def trust_key_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("trust_key_list")],
    page: PageQuery,
) -> Response:
    """List the public keys whose signatures the tenant trusts, newest first, with revoked ones."""
    return await call.read(lambda connection: trust.trust_key_list(connection, tenant_id, page))


@router.post(
    "/trust-keys",
    status_code=201,
    response_model=TrustKey,
    responses=problem_responses("already_exists", "trust_key_refused"),
)
async def trust_key_create(
    tenant_id: TenantId, body: TrustKeyCreate, call: Annotated[Call, admitted_change("trust_key_create")]
) -> Response:
    """Trust the signatures of a key, from an artifact's next check on. A revoked key cannot be added again."""
    return await call.change(lambda tx: trust.trust_key_create(tx, tenant_id, body), status=201)


@router.post("/trust-keys/{trust_key_id}/revoke", response_model=TrustKey, responses=problem_responses())
async def trust_key_revoke(
    tenant_id: TenantId,
    trust_key_id: TrustKeyId,
    body: TrustKeyRevoke,
    call: Annotated[Call, admitted_change("trust_key_revoke")],
) -> Response:
    """Revoke a trust key. Artifacts that no other key of the tenant signed lose their trust; their instances are flagged."""
    return await call.change(lambda tx: trust.trust_key_revoke(tx, tenant_id, trust_key_id, body.reason))
