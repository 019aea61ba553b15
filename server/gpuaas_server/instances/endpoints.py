"""App instances and members over HTTP."""

from typing import Annotated

from fastapi import Query
from pydantic import StringConstraints
from starlette.responses import Response

from gpuaas_server.instances import (
    candidates,
    health,
    instance_secrets,
    members,
    served_projects,
    service,
    smoke_launches,
    timeline,
    updates,
)
from gpuaas_server.instances.candidates import CandidateQuery
from gpuaas_server.instances.drift_schemas import InstanceUpdate
from gpuaas_server.instances.health_schemas import HealthAccepted, HealthReport
from gpuaas_server.instances.member_operation_schemas import MemberOperationCreate
from gpuaas_server.instances.schemas import (
    Instance,
    InstanceCreate,
    InstanceMember,
    InstanceStarted,
    InstanceStatus,
    InstanceSummary,
    InstanceTimeline,
    InstanceUpgrade,
    InstanceVerb,
    PlacementCandidates,
    ServedProjectChanged,
    ServedProjects,
    SmokeLaunch,
)
from gpuaas_server.instances.service import InstanceFilter
from gpuaas_server.kernel.context import Tx
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http import idempotency
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change, reply
from gpuaas_server.kernel.http.page_query import PageAfter, PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.schemas import HealthStatus, Slug
from gpuaas_server.kernel.ids import AllocationId, AppId, AppVersionId, InstanceId, MemberId, ProjectId
from gpuaas_server.operations.schemas import Operation
from gpuaas_server.operations.service import INSTANCE_KINDS, KINDS, Kind

router = api_router(tags=["instances"])
PATH = "/projects/{project_id}/instances"
ONE = f"{PATH}/{{instance_id}}"
ChosenPlace = Annotated[str, StringConstraints(pattern="^[a-z][a-z0-9_-]{0,62}:alc_[0-9a-z]{26}$")]
CHOSEN = "Placements chosen so far, each as component:allocation. May be repeated."
_VERB_CODES = ("operation_in_progress", "options_invalid", "document_invalid", "closed_in_mode")
# Of verbs that bring the bytes of a version to hosts: see version_check.
_VERSION_CHECK_CODES = ("artifact_revoked", "artifact_untrusted", "version_refused")


@router.post(
    PATH,
    status_code=201,
    response_model=InstanceStarted,
    responses=problem_responses(
        "already_exists",
        "not_launchable",
        "no_controller",
        "placement_refused",
        "inputs_invalid",
        "document_invalid",
        "secret_invalid",
        "secret_missing",
        "secret_store_unavailable",
    ),
)
async def instance_create(
    project_id: ProjectId, body: InstanceCreate, call: Annotated[Call, admitted_change("instance_create")]
) -> Response:
    """Launch an app on allocations of the project. The answer names the deploy operation to follow."""
    platform, caller = call.platform, call.caller
    given = await instance_secrets.prepare_given(platform, caller.tenant_id, project_id, body.secrets)

    async def launch(tx: Tx) -> InstanceStarted:
        return await service.instance_create(tx, platform.settings, caller, body, given)

    try:
        answer = await call.change(launch, status=201)
    except Problem:
        await instance_secrets.discard(platform, given)
        raise
    if idempotency.is_replay(answer):  # the first request's values are the values
        await instance_secrets.discard(platform, given)
    return answer


@router.post(
    "/projects/{project_id}/apps/{app_id}/versions/{version_id}/smoke",
    status_code=202,
    response_model=InstanceStarted,
    responses=problem_responses(
        "conflict", "not_launchable", "placement_refused", "inputs_invalid", "document_invalid"
    ),
)
async def app_version_smoke(
    project_id: ProjectId,
    app_id: AppId,
    version_id: AppVersionId,
    body: SmokeLaunch,
    call: Annotated[Call, admitted_change("app_version_smoke")],
) -> Response:
    """Have the platform launch the version on these allocations, wait until its hosts say that it is ready, and remove it
    again. The outcome becomes `smoke` evidence of its artifacts, with the operation that showed it. A draft is put on trial.
    """
    settings, caller = call.platform.settings, call.caller
    return await call.change(
        lambda tx: smoke_launches.app_version_smoke(tx, settings, caller, app_id, version_id, body), status=202
    )


@router.get(
    "/projects/{project_id}/placements",
    response_model=PlacementCandidates,
    responses=problem_responses("not_launchable"),
)
async def placement_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("placement_list")],
    page: PageQuery,
    app: Annotated[Slug, Query(description="Slug of the app, from the catalogue.")],
    version: Annotated[
        str | None, Query(max_length=64, description="Version of the app. Absent: the newest that may be launched.")
    ] = None,
    instance_id: Annotated[
        InstanceId | None, Query(description="The instance to add members to. Absent: a new instance.")
    ] = None,
    chosen: Annotated[list[ChosenPlace] | None, Query(max_length=256, description=CHOSEN)] = None,
) -> Response:
    """List the allocations that could take the app, and for each component every reason why one cannot. A draft of the project
    is answered for before it is on trial, so that a smoke launch of it can be placed.
    """
    query, caller = CandidateQuery.of(app, version, instance_id, chosen or ()), call.caller
    return await call.read(lambda c: candidates.placement_list(c, caller, query, page))


@router.get(PATH, response_model=Page[InstanceSummary], responses=problem_responses())
async def instance_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("instance_list")],
    page: PageQuery,
    status: Annotated[InstanceStatus | None, Query(description="Only instances in this status.")] = None,
    health: Annotated[HealthStatus | None, Query(description="Only instances with this health.")] = None,
    app: Annotated[Slug | None, Query(description="Only instances of this app.")] = None,
    served: Annotated[
        bool, Query(description="Instances of other projects that serve this project, instead of its own.")
    ] = False,
    allocation_id: Annotated[
        AllocationId | None, Query(description="Only instances with a member on this allocation.")
    ] = None,
) -> Response:
    """List the instances of the project, newest first, with decommissioned ones. The other parameters filter."""
    caller, wanted = call.caller, InstanceFilter(status, health, app, served, allocation_id)
    return await call.read(lambda c: service.instance_list(c, caller, wanted, page))


@router.get(ONE, response_model=Instance, responses=problem_responses())
async def instance_show(
    project_id: ProjectId, instance_id: InstanceId, call: Annotated[Call, admitted("instance_show")]
) -> Response:
    """Show an instance: its inputs, what its controller reports, its health, and what can be requested next."""
    now = call.platform.clock()
    return await call.read(lambda c: service.instance_show(c, call.caller, instance_id, now))


@router.patch(ONE, response_model=Instance, responses=problem_responses("precondition_failed", "conflict"))
async def instance_update(
    project_id: ProjectId,
    instance_id: InstanceId,
    body: InstanceUpdate,
    call: Annotated[Call, admitted_change("instance_update")],
) -> Response:
    """Set what the platform does when members of the instance drift. Attempts that had stopped start again."""
    match = call.require_match
    return await call.change(lambda tx: updates.instance_update(tx, call.caller, instance_id, body, match))


@router.get(f"{ONE}/timeline", response_model=InstanceTimeline, responses=problem_responses("too_many_streams"))
async def instance_timeline(
    project_id: ProjectId,
    instance_id: InstanceId,
    call: Annotated[Call, admitted("instance_timeline")],
    after: PageAfter = None,
    wait: Annotated[int, Query(ge=0, le=60, description="Seconds to wait for the first entry.")] = 0,
    limit: Annotated[int, Query(ge=1, le=500, description="Largest number of entries.")] = 100,
) -> Response:
    """Show what happened to the instance, its members and operations, oldest first. With `wait` the call waits for news."""
    platform, scope, caller = call.platform, call.admission.scope, call.caller
    async with call.waiting(wait):
        return reply(await timeline.instance_timeline(platform, scope, caller, instance_id, after, wait, limit))


def _add_verb(kind: Kind) -> None:
    """Add `POST …/{kind}` for an operation on the whole instance that needs nothing but its kind."""

    async def operate(
        project_id: ProjectId,
        instance_id: InstanceId,
        body: InstanceVerb,
        call: Annotated[Call, admitted_change(f"instance_{kind.name}")],
    ) -> Response:
        return await call.change(lambda tx: service.instance_operate(tx, call.caller, instance_id, kind.name, body))

    operate.__name__, operate.__doc__ = f"instance_{kind.name}", kind.description
    is_checked = kind.brings_bytes or kind.changes_version
    responses = problem_responses(*_VERB_CODES, *(_VERSION_CHECK_CODES if is_checked else ()))
    router.post(f"{ONE}/{kind.name}", response_model=InstanceStarted, responses=responses)(operate)


for _name in INSTANCE_KINDS:
    if not KINDS[_name].has_own_endpoint:
        _add_verb(KINDS[_name])


@router.post(
    f"{ONE}/upgrade",
    response_model=InstanceStarted,
    responses=problem_responses(*_VERB_CODES, "not_launchable", "placement_refused", "inputs_invalid"),
    description=KINDS["upgrade"].description,
)
async def instance_upgrade(
    project_id: ProjectId,
    instance_id: InstanceId,
    body: InstanceUpgrade,
    call: Annotated[Call, admitted_change("instance_upgrade")],
) -> Response:
    return await call.change(lambda tx: service.instance_upgrade(tx, call.caller, instance_id, body))


@router.get(f"{ONE}/served-projects", response_model=ServedProjects, responses=problem_responses())
async def served_project_list(
    project_id: ProjectId, instance_id: InstanceId, call: Annotated[Call, admitted("served_project_list")]
) -> Response:
    """List the projects that the instance serves. People of each find it in their own project, with their own usage."""
    caller = call.caller
    return await call.read(lambda c: served_projects.served_project_list(c, caller, instance_id))


@router.put(
    f"{ONE}/served-projects/{{served_project_id}}",
    response_model=ServedProjectChanged,
    responses=problem_responses("conflict", "operation_in_progress", "one_project_only"),
)
async def served_project_set(
    project_id: ProjectId,
    instance_id: InstanceId,
    served_project_id: ProjectId,
    call: Annotated[Call, admitted_change("served_project_set")],
) -> Response:
    """Serve a further project of the tenant. You must administer both; a running instance is reconciled immediately."""
    caller = call.caller
    return await call.change(lambda tx: served_projects.served_project_set(tx, caller, instance_id, served_project_id))


@router.delete(
    f"{ONE}/served-projects/{{served_project_id}}",
    response_model=ServedProjectChanged,
    responses=problem_responses("conflict", "operation_in_progress", "served_project_in_use"),
)
async def served_project_remove(
    project_id: ProjectId,
    instance_id: InstanceId,
    served_project_id: ProjectId,
    call: Annotated[Call, admitted_change("served_project_remove")],
) -> Response:
    """Stop serving a project. Its members must be removed first; its usage stays recorded."""
    caller = call.caller
    return await call.change(
        lambda tx: served_projects.served_project_remove(tx, caller, instance_id, served_project_id)
    )


@router.put(
    f"{ONE}/health",
    response_model=HealthAccepted,
    responses=problem_responses("not_the_controller", "stale_generation", "document_too_large", "document_invalid"),
)
async def instance_health_report(
    project_id: ProjectId,
    instance_id: InstanceId,
    body: HealthReport,
    call: Annotated[Call, admitted_change("instance_health_report")],
) -> Response:
    """Report the health of an instance, as its controller, on its own schedule. Members and operations count too: see the
    answer.
    """
    return await call.change(lambda tx: health.instance_health_report(tx, call.caller, instance_id, body))


@router.get(f"{ONE}/members", response_model=Page[InstanceMember], responses=problem_responses("invalid_cursor"))
async def member_list(
    project_id: ProjectId,
    instance_id: InstanceId,
    call: Annotated[Call, admitted("member_list")],
    page: PageQuery,
    removed: Annotated[bool, Query(description="Include removed members.")] = False,
) -> Response:
    """List the members in the order in which they joined. `removed` includes those that were removed."""
    caller = call.caller
    return await call.read(lambda c: members.member_list(c, caller, instance_id, removed, page))


@router.get(f"{ONE}/members/{{member_id}}", response_model=InstanceMember, responses=problem_responses())
async def member_show(
    project_id: ProjectId,
    instance_id: InstanceId,
    member_id: MemberId,
    call: Annotated[Call, admitted("member_show")],
) -> Response:
    """Show a member: its status and why, its allocation and node, and the operation that works on it."""
    caller = call.caller
    return await call.read(lambda c: members.member_show(c, caller, instance_id, member_id))


@router.post(
    f"{ONE}/member-operations",
    status_code=201,
    response_model=Operation,
    responses=problem_responses(
        "conflict",
        "operation_in_progress",
        "placement_refused",
        "options_invalid",
        "document_invalid",
        *_VERSION_CHECK_CODES,
        "closed_in_mode",
        "members_required",
        "reason_required",
    ),
)
async def member_operation_create(
    project_id: ProjectId,
    instance_id: InstanceId,
    body: MemberOperationCreate,
    call: Annotated[Call, admitted_change("member_operation_create")],
) -> Response:
    """Add, drain, remove, replace or recover members. For several members the answer is the bulk operation."""
    return await call.change(lambda tx: members.member_operation_create(tx, call.caller, instance_id, body), status=201)
