"""Slots, SKUs and quotas over HTTP."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.capacity import quotas, service, skus
from gpuaas_server.capacity.schemas import (
    Quota,
    QuotaSet,
    Sku,
    SkuCreate,
    SkuUpdate,
    Slot,
    SlotApprove,
    SlotDisable,
    SlotList,
)
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.ids import NodeId, ProjectId, SkuId, SlotId, TenantId

router = api_router(tags=["capacity"])


@router.get("/nodes/{node_id}/slots", response_model=SlotList, responses=problem_responses())
async def slot_list(node_id: NodeId, call: Annotated[Call, admitted("slot_list")]) -> Response:
    """List the GPUs of a node by index, with what discovery found and whether they can be claimed."""
    return await call.read(lambda connection: service.slot_list(connection, node_id, call.caller))


@router.post(
    "/nodes/{node_id}/slots/approve",
    response_model=SlotList,
    responses=problem_responses("slot_not_approvable"),
)
async def slot_approve(
    node_id: NodeId, body: SlotApprove, call: Annotated[Call, admitted_change("slot_approve")]
) -> Response:
    """Approve the topology that discovery found. Nothing can be allocated before that."""
    return await call.change(lambda tx: service.slot_approve(tx, node_id, body, call.caller))


@router.post("/slots/{slot_id}/disable", response_model=Slot, responses=problem_responses("conflict"))
async def slot_disable(
    slot_id: SlotId, body: SlotDisable, call: Annotated[Call, admitted_change("slot_disable")]
) -> Response:
    """Take a GPU out of the pool, with a reason. A GPU that is claimed, or not proven clean, must be released first."""
    return await call.change(lambda tx: service.slot_disable(tx, slot_id, body.reason, call.caller))


@router.post("/slots/{slot_id}/enable", response_model=Slot, responses=problem_responses("conflict"))
async def slot_enable(slot_id: SlotId, call: Annotated[Call, admitted_change("slot_enable")]) -> Response:
    """Return a GPU to the pool. A slot that was never approved waits for its approval again."""
    return await call.change(lambda tx: service.slot_enable(tx, slot_id, call.caller))


@router.get("/skus", response_model=Page[Sku], responses=problem_responses())
async def sku_list(
    call: Annotated[Call, admitted("sku_list")],
    page: PageQuery,
) -> Response:
    """List the SKUs, newest first, with those that are no longer offered."""
    return await call.read(lambda connection: skus.sku_list(connection, page))


@router.post(
    "/skus",
    status_code=201,
    response_model=Sku,
    responses=problem_responses("already_exists", "wipe_grade_not_available"),
)
async def sku_create(body: SkuCreate, call: Annotated[Call, admitted_change("sku_create")]) -> Response:
    """Offer GPUs of one model in one shape at a price. The name must be unique."""
    return await call.change(lambda tx: skus.sku_create(tx, body), status=201)


@router.patch(
    "/skus/{sku_id}",
    response_model=Sku,
    responses=problem_responses("precondition_failed", "wipe_grade_not_available"),
)
async def sku_update(sku_id: SkuId, body: SkuUpdate, call: Annotated[Call, admitted_change("sku_update")]) -> Response:
    """Change the counts, the price, the wipe grade, or whether the SKU is offered. Existing allocations do not change."""
    return await call.change(lambda tx: skus.sku_update(tx, sku_id, body, call.require_match))


@router.get("/tenants/{tenant_id}/quota", response_model=Quota, responses=problem_responses())
async def tenant_quota_show(tenant_id: TenantId, call: Annotated[Call, admitted("tenant_quota_show")]) -> Response:
    """Show what all projects of the tenant may use together, and what they use: GPUs, artifacts, bytes, unproven releases."""
    settings = call.platform.settings
    return await call.read(lambda connection: quotas.quota_show(connection, settings, tenant_id, tenant_id))


@router.put("/tenants/{tenant_id}/quota", response_model=Quota, responses=problem_responses("precondition_failed"))
async def tenant_quota_set(
    tenant_id: TenantId, body: QuotaSet, call: Annotated[Call, admitted_change("tenant_quota_set")]
) -> Response:
    """Limit what the tenant uses. A limit below the current use takes nothing away, but nothing more can be created."""
    settings = call.platform.settings
    return await call.change(lambda tx: quotas.quota_set(tx, settings, tenant_id, tenant_id, body, call.require_match))


@router.get("/projects/{project_id}/quota", response_model=Quota, responses=problem_responses())
async def project_quota_show(project_id: ProjectId, call: Annotated[Call, admitted("project_quota_show")]) -> Response:
    """Show what the project may use, and what it uses. The tenant's limits apply too."""
    settings, tenant_id = call.platform.settings, call.caller.tenant_id
    return await call.read(lambda connection: quotas.quota_show(connection, settings, project_id, tenant_id))


@router.put(
    "/projects/{project_id}/quota",
    response_model=Quota,
    responses=problem_responses("precondition_failed", "quota_beyond_tenant"),
)
async def project_quota_set(
    project_id: ProjectId, body: QuotaSet, call: Annotated[Call, admitted_change("project_quota_set")]
) -> Response:
    """Limit what the project uses, within the tenant's limits. A limit below the current use takes nothing away."""
    settings, tenant_id = call.platform.settings, call.caller.tenant_id
    return await call.change(lambda tx: quotas.quota_set(tx, settings, project_id, tenant_id, body, call.require_match))
