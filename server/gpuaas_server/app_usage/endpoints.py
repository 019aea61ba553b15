"""App usage over HTTP: reported by controllers, read by people."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from gpuaas_server.access.service import MachineAccessRequest, certificate_sources
from gpuaas_server.app_usage import counter_access, service
from gpuaas_server.app_usage.schemas import (
    UsageAccess,
    UsageAccessCreate,
    UsageBatch,
    UsageRecord,
    UsageReported,
    UsageTotals,
)
from gpuaas_server.app_usage.service import UsageFilter
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageLimit, PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.schemas import Day, Moment
from gpuaas_server.kernel.ids import InstanceId, ProjectId
from gpuaas_server.pki import service as pki
from gpuaas_server.pki.service import read_public_key

router = api_router(tags=["app usage"])
PATH = "/projects/{project_id}/app-usage"
OfInstance = Annotated[InstanceId | None, Query(description="Only usage of this instance.")]
TotalAfter = Annotated[
    str | None,
    Query(
        pattern="^ins_[0-9a-z]{26}/[a-z][a-z0-9_-]{0,39}/[a-z][a-z0-9_-]{0,39}$",
        description="Cursor: next_cursor of the page before.",
    ),
]


@router.post(
    "/projects/{project_id}/instances/{instance_id}/usage",
    response_model=UsageReported,
    responses=problem_responses("not_the_controller", "usage_invalid", "usage_key_taken"),
)
async def app_usage_report(
    project_id: ProjectId,
    instance_id: InstanceId,
    body: UsageBatch,
    call: Annotated[Call, admitted_change("app_usage_report")],
) -> Response:
    """Report usage, as the app's controller. A repetition adds nothing, so repeat the report until it is accepted."""
    return await call.change(lambda tx: service.app_usage_report(tx, call.caller, instance_id, body))


@router.post(
    "/projects/{project_id}/instances/{instance_id}/usage-access",
    status_code=201,
    response_model=UsageAccess,
    responses=problem_responses("ssh_key_refused", "source_addresses_needed", "not_the_controller"),
)
async def app_usage_access(
    project_id: ProjectId,
    instance_id: InstanceId,
    body: UsageAccessCreate,
    call: Annotated[Call, admitted_change("app_usage_access")],
) -> Response:
    """Sign SSH certificates that let the app's controller read what the instance's hosts have counted, and nothing else.
    They last minutes.
    """
    platform, public = call.platform, read_public_key(body.public_key)
    authority = pki.signer(await pki.live_keys(platform, "ssh_user_ca"), platform.clock())
    sources = certificate_sources(call.actor, body.source_addresses, platform.settings)
    wanted = MachineAccessRequest(public, authority, sources)
    return await call.change(
        lambda tx: counter_access.app_usage_access(tx, call.caller, instance_id, wanted), status=201
    )


@router.get(PATH, response_model=Page[UsageRecord], responses=problem_responses("invalid_cursor"))
async def app_usage_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("app_usage_list")],
    page: PageQuery,
    instance_id: OfInstance = None,
    since: Annotated[Moment | None, Query(description="Only usage that ended at this time or later.")] = None,
    before: Annotated[Moment | None, Query(description="Only usage that ended before this time.")] = None,
) -> Response:
    """List the app usage of this project, in instances of any project. The latest end comes first."""
    wanted = UsageFilter(project_id, instance_id, since, before)
    return await call.read(lambda c: service.app_usage_list(c, wanted, page))


@router.get(f"{PATH}/totals", response_model=UsageTotals, responses=problem_responses("invalid_request"))
async def app_usage_totals(
    project_id: ProjectId,
    call: Annotated[Call, admitted("app_usage_totals")],
    instance_id: OfInstance = None,
    first_day: Annotated[
        Day | None, Query(description="First day, in UTC. Absent: 30 days before the last day.")
    ] = None,
    last_day: Annotated[Day | None, Query(description="Last day, in UTC, inclusive. Absent: today.")] = None,
    after: TotalAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """Show the sums of usage that ended within a range of days, for each instance and metric."""
    today, days = call.platform.clock().date(), (first_day, last_day)
    return await call.read(lambda c: service.app_usage_totals(c, project_id, instance_id, days, today, after, limit))
