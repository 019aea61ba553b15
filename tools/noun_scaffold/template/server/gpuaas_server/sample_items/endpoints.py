"""Sample items over HTTP."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.kernel.http.call import Call, admitted, admitted_change
from gpuaas_server.kernel.http.page_query import PageQuery
from gpuaas_server.kernel.http.pages import Page
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.ids import ProjectId, SampleItemId
from gpuaas_server.sample_items import service
from gpuaas_server.sample_items.schemas import SampleItem, SampleItemCreate

router = api_router(prefix="/projects/{project_id}/sample-items", tags=["sample items"])


@router.post("", status_code=201, response_model=SampleItem, responses=problem_responses("already_exists"))
async def sample_item_create(
    project_id: ProjectId, body: SampleItemCreate, call: Annotated[Call, admitted_change("sample_item_create")]
) -> Response:
    """Create a sample item in the project."""
    return await call.change(lambda tx: service.sample_item_create(tx, call.caller, body), status=201)


@router.get("", response_model=Page[SampleItem], responses=problem_responses())
async def sample_item_list(
    project_id: ProjectId, call: Annotated[Call, admitted("sample_item_list")], page: PageQuery
) -> Response:
    """List the sample items of the project, newest first."""
    return await call.read(lambda c: service.sample_item_list(c, call.caller, page))


@router.get("/{sample_item_id}", response_model=SampleItem, responses=problem_responses())
async def sample_item_show(
    project_id: ProjectId, sample_item_id: SampleItemId, call: Annotated[Call, admitted("sample_item_show")]
) -> Response:
    """Show one sample item."""
    return await call.read(lambda c: service.sample_item_show(c, call.caller, sample_item_id))


@router.delete("/{sample_item_id}", status_code=204, responses=problem_responses())
async def sample_item_delete(
    project_id: ProjectId, sample_item_id: SampleItemId, call: Annotated[Call, admitted_change("sample_item_delete")]
) -> Response:
    """Delete a sample item permanently."""
    return await call.change(lambda tx: service.sample_item_delete(tx, call.caller, sample_item_id))
