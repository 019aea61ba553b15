"""Probe reports over HTTP: sent by agents, in the name of their node."""

from typing import Annotated

from starlette.responses import Response

from gpuaas_server.instances import probe_reports
from gpuaas_server.instances.probe_schemas import ProbeReport, ProbeReportAccepted
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.admissions import AdmittedAction
from gpuaas_server.kernel.http.call import Call, admitted, reply
from gpuaas_server.kernel.http.problems import problem_responses
from gpuaas_server.kernel.http.routers import api_router
from gpuaas_server.nodes.schemas import SIGNED_CALL_PROBLEMS

router = api_router(prefix="/agent", tags=["agent"])


@router.post("/probes", response_model=ProbeReportAccepted, responses=problem_responses(*SIGNED_CALL_PROBLEMS))
async def agent_probe_report(body: ProbeReport, call: Annotated[Call, admitted("agent_probe_report")]) -> Response:
    """Report what the probes of members on this node say: what changed, and everything every few minutes."""
    async with call.platform.transaction(call.admission.scope, call.actor) as tx:
        accepted = await probe_reports.probe_report(tx, call.actor.id, body)
        foreign = await probe_reports.foreign_members(tx.connection, call.actor.id, accepted.ended)
    if foreign:  # the rest of the report is accepted; the refusal of this part is recorded
        refusal = Problem("forbidden", f"{foreign[0]} does not run on this node.")
        await call.request.app.state.gate.refused(call.request, AdmittedAction(call.action, call.admission), refusal)
    return reply(accepted)
