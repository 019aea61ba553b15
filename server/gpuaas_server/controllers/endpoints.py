"""Controllers over HTTP: publishers bind them, tenants consent to them, and they themselves ask for work."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.controllers import bindings, consents, kind_bindings, replicas, service, work
from gpuaas_server.controllers.schemas import (
    ControllerBinding,
    ControllerBindingCreate,
    ControllerConsent,
    ControllerConsentGive,
    ControllerConsentWithdraw,
    ControllerHeartbeat,
    ControllerKindBinding,
    ControllerKindBindingCreate,
    ControllerOffer,
    ControllerReplicas,
    HeartbeatAccepted,
)
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change, reply
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.schemas import Slug
from gpuaas_server.kernel.ids import (
    ControllerBindingId,
    ControllerConsentId,
    ControllerKindBindingId,
    ProjectId,
    TenantId,
)
from gpuaas_server.operations.schemas import Replica, WorkList

router = api_router(tags=["controllers"])
BINDINGS = "/projects/{project_id}/controller-bindings"
KIND_BINDINGS = "/projects/{project_id}/controller-kind-bindings"
CONSENTS = "/tenants/{tenant_id}/controller-consents"
MOST_WITHOUT = 100  # tenants that a poll may leave out
Wait = Annotated[int, Query(ge=0, le=60, description="Seconds to wait for the first operation.")]
OwnReplica = Annotated[
    Replica | None,
    Query(description="Name of this replica, which sends heartbeats. Without it, the poll counts as a heartbeat."),
]
Claimed = Annotated[
    bool, Query(description="List instead the operations that a replica of this name has claimed and not ended.")
]
WithoutTenants = Annotated[
    list[TenantId] | None,
    Query(
        max_length=MOST_WITHOUT,
        description="Tenants whose operations this replica does not take now, since it works on others of theirs.",
    ),
]


@router.post(
    BINDINGS,
    status_code=201,
    response_model=ControllerBinding,
    responses=problem_responses("already_exists", "not_the_controller"),
)
async def controller_binding_create(
    project_id: ProjectId,
    body: ControllerBindingCreate,
    call: Annotated[Call, admitted_change("controller_binding_create")],
) -> Response:
    """Bind an app of this project to one of its service accounts, which then controls it for every tenant that consents."""
    return await call.change(lambda tx: bindings.controller_binding_create(tx, call.caller, body), status=201)


@router.get(BINDINGS, response_model=Page[ControllerBinding], responses=problem_responses())
async def controller_binding_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("controller_binding_list")],
    page: PageQuery,
) -> Response:
    """List the controller bindings of the project's apps, newest first."""
    return await call.read(lambda c: bindings.controller_binding_list(c, call.caller, page))


@router.delete(f"{BINDINGS}/{{controller_binding_id}}", status_code=204, responses=problem_responses())
async def controller_binding_delete(
    project_id: ProjectId,
    controller_binding_id: ControllerBindingId,
    call: Annotated[Call, admitted_change("controller_binding_delete")],
) -> Response:
    """Delete a controller binding. The service account serves no other tenant with this app; its leases there end."""
    return await call.change(lambda tx: bindings.controller_binding_delete(tx, project_id, controller_binding_id))


@router.post(
    KIND_BINDINGS,
    status_code=201,
    response_model=ControllerKindBinding,
    responses=problem_responses("already_exists", "not_platform_project", "not_the_controller"),
)
async def controller_kind_binding_create(
    project_id: ProjectId,
    body: ControllerKindBindingCreate,
    call: Annotated[Call, admitted_change("controller_kind_binding_create")],
) -> Response:
    """Bind a kind of artifact to a service account of the platform, which then serves every app of the kind that has no
    binding of its own, for every tenant that consents.
    """
    return await call.change(lambda tx: kind_bindings.controller_kind_binding_create(tx, call.caller, body), status=201)


@router.get(KIND_BINDINGS, response_model=Page[ControllerKindBinding], responses=problem_responses())
async def controller_kind_binding_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("controller_kind_binding_list")],
    page: PageQuery,
) -> Response:
    """List the kinds of artifacts that service accounts of the project are bound to, newest first."""
    return await call.read(lambda c: kind_bindings.controller_kind_binding_list(c, call.caller, page))


@router.delete(f"{KIND_BINDINGS}/{{controller_kind_binding_id}}", status_code=204, responses=problem_responses())
async def controller_kind_binding_delete(
    project_id: ProjectId,
    controller_kind_binding_id: ControllerKindBindingId,
    call: Annotated[Call, admitted_change("controller_kind_binding_delete")],
) -> Response:
    """Delete a kind binding. Its service account serves none of these apps any more; its leases there end."""
    return await call.change(
        lambda tx: kind_bindings.controller_kind_binding_delete(tx, project_id, controller_kind_binding_id)
    )


@router.get(
    "/projects/{project_id}/controller-replicas", response_model=ControllerReplicas, responses=problem_responses()
)
async def controller_replica_list(
    project_id: ProjectId, call: Annotated[Call, admitted("controller_replica_list")]
) -> Response:
    """List the replicas of the project's controllers that were seen within a day, the last one first."""
    settings, now = call.platform.settings, call.platform.clock()
    return await call.read(lambda c: replicas.controller_replica_list(c, settings, project_id, now))


@router.put(
    "/projects/{project_id}/controller/heartbeat",
    response_model=HeartbeatAccepted,
    responses=problem_responses("not_the_controller"),
)
async def controller_heartbeat(
    project_id: ProjectId, body: ControllerHeartbeat, call: Annotated[Call, admitted_change("controller_heartbeat")]
) -> Response:
    """Report that a replica of this controller is alive. Without one, launches of its app get `no_controller`."""
    settings = call.platform.settings
    return await call.change(lambda tx: replicas.controller_heartbeat(tx, settings, call.caller, body))


@router.get(
    "/projects/{project_id}/controller/work", response_model=WorkList, responses=problem_responses("too_many_streams")
)
async def controller_work(
    project_id: ProjectId,
    call: Annotated[Call, admitted("controller_work")],
    wait: Wait = 0,
    replica: OwnReplica = None,
    claimed: Claimed = False,
    without_tenant: WithoutTenants = None,
) -> Response:
    """List the operations that no controller works on, of this project and of tenants that consent, in turns. Only apps that
    the service account is bound to are listed.
    """
    async with call.waiting(wait):
        poll = work.WorkPoll(project_id, replica, claimed, without_tenant or (), wait)
        return reply(await work.controller_work(call.platform, call.admission, poll))


@router.get(
    "/tenants/{tenant_id}/controller-offers", response_model=Page[ControllerOffer], responses=problem_responses()
)
async def controller_offer_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("controller_offer_list")],
    page: PageQuery,
    app: Annotated[Slug | None, Query(description="Only this app.")] = None,
) -> Response:
    """List the apps whose publisher runs a controller, what it could do here, and what the tenant consents to."""
    settings, now = call.platform.settings, call.platform.clock()
    return await call.read(lambda c: service.controller_offer_list(c, settings, now, call.caller, app, page))


@router.post(CONSENTS, status_code=201, response_model=ControllerConsent, responses=problem_responses())
async def controller_consent_give(
    tenant_id: TenantId, body: ControllerConsentGive, call: Annotated[Call, admitted_change("controller_consent_give")]
) -> Response:
    """Let the controller of an app work in the tenant's projects. A repeated consent replaces the earlier one."""
    return await call.change(lambda tx: consents.controller_consent_give(tx, call.caller, body), status=201)


@router.get(CONSENTS, response_model=Page[ControllerConsent], responses=problem_responses())
async def controller_consent_list(
    tenant_id: TenantId,
    call: Annotated[Call, admitted("controller_consent_list")],
    page: PageQuery,
) -> Response:
    """List the consents of the tenant, newest first, withdrawn ones too."""
    return await call.read(lambda c: consents.controller_consent_list(c, call.caller, page))


@router.post(
    f"{CONSENTS}/{{controller_consent_id}}/withdraw", response_model=ControllerConsent, responses=problem_responses()
)
async def controller_consent_withdraw(
    tenant_id: TenantId,
    controller_consent_id: ControllerConsentId,
    body: ControllerConsentWithdraw,
    call: Annotated[Call, admitted_change("controller_consent_withdraw")],
) -> Response:
    """Withdraw a consent, at once: the controller sees nothing of the tenant, its leases end, and its access is revoked."""
    return await call.change(
        lambda tx: consents.controller_consent_withdraw(tx, call.caller, controller_consent_id, body.reason)
    )
