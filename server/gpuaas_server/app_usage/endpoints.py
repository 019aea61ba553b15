"""App usage over HTTP: reported by controllers, read by people."""

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from gpuaas_server.app_usage import service
from gpuaas_server.app_usage.schemas import UsageBatch, UsageRecord, UsageReported, UsageTotals
from gpuaas_server.app_usage.service import UsageFilter
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.pages import Page, PageAfter, PageLimit
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.schemas import Day, Moment
from gpuaas_server.kernel.ids import InstanceId, ProjectId

router = APIRouter(tags=["app usage"])
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
    return await call.change(lambda tx: service.app_usage_report(tx, call.caller, project_id, instance_id, body))


@router.get(PATH, response_model=Page[UsageRecord], responses=problem_responses("invalid_cursor"))
async def app_usage_list(
    project_id: ProjectId,
    call: Annotated[Call, admitted("app_usage_list")],
    instance_id: OfInstance = None,
    since: Annotated[Moment | None, Query(description="Only usage that ended at this time or later.")] = None,
    before: Annotated[Moment | None, Query(description="Only usage that ended before this time.")] = None,
    after: PageAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """List what apps were used for in this project, in instances of any project. The latest end comes first."""
    wanted = UsageFilter(project_id, instance_id, since, before)
    return await call.read(lambda c: service.app_usage_list(c, wanted, after, limit))


@router.get(f"{PATH}/totals", response_model=UsageTotals, responses=problem_responses("invalid_request"))
async def app_usage_totals(
    project_id: ProjectId,
    call: Annotated[Call, admitted("app_usage_totals")],
    instance_id: OfInstance = None,
    first_day: Annotated[Day | None, Query(description="First day, in UTC. Absent: 31 days in all.")] = None,
    last_day: Annotated[Day | None, Query(description="Last day, in UTC, inclusive. Absent: today.")] = None,
    after: TotalAfter = None,
    limit: PageLimit = 50,
) -> Response:
    """Show the sums of usage that ended within a range of days, for each instance and metric."""
    today, days = call.platform.clock().date(), (first_day, last_day)
    return await call.read(lambda c: service.app_usage_totals(c, project_id, instance_id, days, today, after, limit))
