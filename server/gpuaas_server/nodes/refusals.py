"""Refused agent messages in the audit trail, with the node that was claimed and never the token; and refused enrolments,
counted against the address they came from."""

from starlette.requests import Request

from gpuaas_server.audit import service as audit
from gpuaas_server.audit.service import AuditEntry, Denials
from gpuaas_server.events import service as events
from gpuaas_server.events.service import NewEvent
from gpuaas_server.identity import service as identity
from gpuaas_server.identity.service import RateLimit
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.admissions import AdmittedAction
from gpuaas_server.kernel.http.edge import anonymous_actor, client_address
from gpuaas_server.nodes import node_key_queries, signatures
from gpuaas_server.nodes.node_keys import KeyMisuse
from gpuaas_server.nodes.signatures import ENROLLING

ENROL = "agent_enrol"
MOST_REMEMBERED = 10_000
_MISUSE_EVENTS = {"node_key_replaced": "node.former_key_used", "node_key_wrong_network": "node.key_used_elsewhere"}
_STATUSES = (401, 403, 404, 409, 429)
# A host whose address another node has is not guessing a token.
_NO_ATTEMPT = ("rate_limited", "address_taken")


class AgentRefusals:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._denials = Denials(platform)
        self._misuses: set[tuple[str, int, str, str]] = set()
        self._limit = RateLimit("enrol", platform.settings.enrolment_rate_per_minute)

    async def limit_enrolment(self, request: Request) -> None:
        """Refuse too many attempts. Only refused enrolments count, so that a rack behind one address enrols at once."""
        await identity.refuse_over(self._platform, self._limit, client_address(request))

    async def at_the_gate(self, request: Request, action: str, problem: Problem) -> None:
        """Record a refusal at the gate. Nobody has proven to be the node, so the row says who called and what they claimed."""
        if isinstance(problem, KeyMisuse):
            await self._tell_misuse(anonymous_actor(request), action, problem)
            return
        await self._write(action, anonymous_actor(request), _claimed_node(request), problem)

    async def _tell_misuse(self, actor: Actor, action: str, misuse: KeyMisuse) -> None:
        """Report a misuse once for each key, kind of call and refusal: whoever has the key could repeat it for ever."""
        metrics.denials.labels(misuse.code).inc()
        mark = (misuse.node_id, misuse.generation, action, misuse.code)
        if mark in self._misuses:
            return
        if len(self._misuses) < MOST_REMEMBERED:
            self._misuses.add(mark)
        async with self._platform.transaction(PLATFORM, actor) as tx:
            if not await node_key_queries.misuse_insert(tx.connection, *mark, actor.address, tx.now):
                return
            details: dict[str, object] = {
                "why": misuse.code,
                "key_generation": misuse.generation,
                "address": actor.address,
            }
            await audit.record(tx, AuditEntry(action, misuse.node_id, outcome="denied", details=details))
            if misuse.alarming:
                await events.emit(
                    tx, NewEvent(_MISUSE_EVENTS[misuse.code], misuse.node_id, data=details | {"call": action})
                )

    async def by_verb(self, request: Request, admitted: AdmittedAction, problem: Problem) -> None:
        actor = admitted.admission.actor
        if isinstance(problem, KeyMisuse):  # the gate admits an enrolment by the key in its body, whosever it is
            await identity.count_attempt(self._platform, self._limit, actor.address)
            await self._tell_misuse(anonymous_actor(request), admitted.action, problem)
            return
        if actor.id == ENROLLING:
            await self._write(admitted.action, anonymous_actor(request), None, problem)
        else:
            await self._write(admitted.action, actor, request.path_params.get("task_id", actor.id), problem)

    async def _write(self, action: str, actor: Actor, resource_id: str | None, problem: Problem) -> None:
        if problem.kind.status not in _STATUSES:
            return
        if action == ENROL and problem.code not in _NO_ATTEMPT:
            await identity.count_attempt(self._platform, self._limit, actor.address)
        await self._denials.write(actor, AuditEntry(action, resource_id), problem.code)


def _claimed_node(request: Request) -> str | None:
    try:
        node_id = signatures.read_authorization(request.headers.get("authorization", "")).node_id
    except Problem:
        return None
    return None if node_id == ENROLLING else node_id
