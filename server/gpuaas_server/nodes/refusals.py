"""Refused agent messages in the audit trail, with the node that was claimed and never the token; and refused enrolments,
counted against the address they came from."""

from starlette.requests import Request

from gpuaas_server.audit.denials import Denials
from gpuaas_server.audit.service import AuditEntry
from gpuaas_server.identity import rates
from gpuaas_server.identity.rates import Door
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Admitted
from gpuaas_server.kernel.http.edge import anonymous_actor, client_address
from gpuaas_server.nodes import signatures
from gpuaas_server.nodes.signatures import ENROLLING

ENROL = "agent_enrol"
_STATUSES = (401, 403, 404, 429)


class AgentRefusals:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._denials = Denials(platform)
        self._door = Door("enrol", platform.settings.enrolment_rate_per_minute)

    async def limit_enrolment(self, request: Request) -> None:
        """Only refused enrolments count, so a rack behind one address enrols at once. Asked before anything costs much."""
        await rates.refuse_over(self._platform, self._door, client_address(request))

    async def at_the_gate(self, request: Request, action: str, problem: Problem) -> None:
        """Nobody has proven to be the node that the message names, so the row says who came, and what they claimed."""
        await self._write(action, anonymous_actor(request), _claimed_node(request), problem)

    async def by_verb(self, request: Request, admitted: Admitted, problem: Problem) -> None:
        actor = admitted.admission.actor
        if actor.id == ENROLLING:
            await self._write(admitted.action, anonymous_actor(request), None, problem)
        else:
            await self._write(admitted.action, actor, request.path_params.get("task_id", actor.id), problem)

    async def _write(self, action: str, actor: Actor, resource_id: str | None, problem: Problem) -> None:
        if problem.kind.status not in _STATUSES and problem.code != "enrolment_token_used":
            return
        if action == ENROL and problem.code != "rate_limited":
            await rates.count_attempt(self._platform, self._door, actor.address)
        await self._denials.write(actor, AuditEntry(action, resource_id), problem.code)


def _claimed_node(request: Request) -> str | None:
    try:
        node_id = signatures.read_authorization(request.headers.get("authorization", "")).node_id
    except Problem:
        return None
    return None if node_id == ENROLLING else node_id
