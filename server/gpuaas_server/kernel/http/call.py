"""One authorised call. An endpoint declares its action, gets a `Call`, and runs one verb of its service with it.

call: Annotated[Call, admitted("allocation_create")]
return await call.change(lambda tx: service.allocation_create(tx, body), status=201)
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends, Header, Request
from fastapi.dependencies.models import Dependant
from psycopg.errors import DeadlockDetected
from pydantic import BaseModel
from starlette.responses import Response

from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform, Tx
from gpuaas_server.kernel.database import Connection
from gpuaas_server.kernel.dataclass import dataclass
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http import idempotency
from gpuaas_server.kernel.http.admissions import Admission, AdmittedAction
from gpuaas_server.kernel.http.streams import StreamLimits, StreamOwner, ended_by_disconnect
from gpuaas_server.kernel.http.tenant_pace import TenantPaces

Result = TypeVar("Result", bound=BaseModel)
DEADLOCK_TRIES = 3


class Gate(Protocol):
    """Authenticates and authorises calls. `admission` implements it; it is found on `app.state.gate`."""

    async def admit(self, request: Request, action: str) -> Admission: ...

    async def refused(self, request: Request, admitted: AdmittedAction, problem: Problem) -> None:
        """Take note that an admitted call ended in a problem. The gate decides whether that is a denial to be recorded."""


@dataclass(frozen=True, slots=True)
class Call:
    """One admitted call, which an endpoint runs a verb with."""

    platform: Platform
    action: str
    admission: Admission
    request: Request
    keyed: idempotency.KeyedRequest | None
    if_match: str | None

    @property
    def actor(self) -> Actor:
        return self.admission.actor

    @property
    def caller(self) -> Caller:
        return self.admission.caller

    async def read(self, verb: Callable[[Connection], Awaitable[Result]]) -> Response:
        """Run a reading verb on one connection of the caller's scope."""
        async with self.platform.database.connection(self.admission.scope) as connection:
            return reply(await verb(connection))

    async def change(
        self,
        verb: Callable[[Tx], Awaitable[BaseModel | None]],
        status: int = 200,
        *,
        verb_checks_replay: bool = False,
        changes: int = 1,
    ) -> Response:
        """Run a changing verb in one transaction, with idempotent replay, and insist on its audit row.

        A verb that sends statements ahead checks for the replay itself (`Tx.check_replay`). Two that lock the same things in
        another order lose nothing but time: the one that PostgreSQL ends runs again. `changes` is how many the request counts
        for at its tenant's pace; one that is refused, or was answered before, counts for one.
        """
        self._count_changes(changes - 1)  # now, so that those sent beside it wait for it
        try:
            response = await self._change_despite_deadlocks(verb, status, verb_checks_replay)
        except Exception:
            self._count_changes(1 - changes)
            raise
        if idempotency.is_replay(response):
            self._count_changes(1 - changes)
        return response

    async def _change_despite_deadlocks(
        self, verb: Callable[[Tx], Awaitable[BaseModel | None]], status: int, verb_checks_replay: bool
    ) -> Response:
        for _ in range(DEADLOCK_TRIES - 1):
            with suppress(DeadlockDetected):
                return await self._change(verb, status, verb_checks_replay)
        return await self._change(verb, status, verb_checks_replay)

    async def _change(
        self, verb: Callable[[Tx], Awaitable[BaseModel | None]], status: int, verb_checks_replay: bool
    ) -> Response:
        async with self.platform.transaction(self.admission.scope, self.actor) as tx:
            key = None if self.keyed is None else await self.keyed.identity()
            if key is not None:
                lookup = await idempotency.ask(tx, key)
                tx.replay_check = partial(idempotency.end_replay, tx, lookup, self.platform.sealer)
            try:
                if not verb_checks_replay:
                    await tx.check_replay()
                result = await verb(tx)
            except idempotency.Replayed as replayed:
                return idempotency.replay(replayed.answer)
            if tx.replay_check is not None:
                raise RuntimeError("the verb did not check for a replay: call tx.check_replay in it")
            if not tx.audited:
                raise RuntimeError("a change must be audited: call audit.service.record in the verb")
            answer = _answer(result, status)
            if key is not None:
                hours = self.platform.settings.idempotency_hours
                idempotency.remember(tx, key, answer, self.platform.sealer, hours)
        return idempotency.respond(answer)

    async def is_still_admitted(self) -> bool:
        """Tell whether the same call would be admitted now. Long answers, such as streams, ask this again and again."""
        try:
            await self.request.app.state.gate.admit(self.request, self.action)
        except Problem:
            return False
        return True

    async def pace_upload(self, size_bytes: int) -> None:
        """Wait until the tenant may send this many more bytes."""
        paces: TenantPaces = self.request.app.state.gate.paces
        await paces.upload_bytes.wait_turn(self.caller.tenant_id, size_bytes)

    async def pace_task(self) -> None:
        """Wait for the tenant's turn, as for a change: a read that needs a host costs as much."""
        if self.actor.tenant_id:
            paces: TenantPaces = self.request.app.state.gate.paces
            await paces.changes.wait_turn(self.actor.tenant_id)

    def _count_changes(self, further: int) -> None:
        """Count what one request asks for beyond its first resource, or, below zero, take it back."""
        if further and self.actor.tenant_id:  # the platform's own people belong to no tenant
            paces: TenantPaces = self.request.app.state.gate.paces
            paces.changes.count(self.actor.tenant_id, further)

    @property
    def stream_limits(self) -> StreamLimits:
        limits: StreamLimits = self.request.app.state.streams
        return limits

    @property
    def stream_owner(self) -> StreamOwner:
        project_id = self.request.path_params.get("project_id", "")
        return StreamOwner(self.actor.id, project_id, self.caller.tenant_id)

    @asynccontextmanager
    async def waiting(self, seconds: int) -> AsyncIterator[None]:
        """Count a long poll as a stream while its client is connected. Without a wait it is an ordinary call."""
        if not seconds:
            yield
            return
        async with self.stream_limits.opened(self.stream_owner, "long_poll"), ended_by_disconnect(self.request):
            yield

    def require_match(self, generation: int) -> None:
        """Refuse a change that was prepared against another generation (If-Match)."""
        if self.if_match not in (None, "*", f'"{generation}"'):
            raise Problem("precondition_failed", f"The current generation is {generation}.")


def _etag(result: BaseModel | None) -> str | None:
    generation = getattr(result, "generation", None)
    return None if generation is None else f'"{generation}"'


def _answer(result: BaseModel | None, status: int) -> idempotency.StoredAnswer:
    body = b"" if result is None else result.__pydantic_serializer__.to_json(result)
    return idempotency.StoredAnswer(status if result is not None else 204, body, _etag(result))


def reply(result: BaseModel | None, status: int = 200) -> Response:
    return idempotency.respond(_answer(result, status))


IdempotencyHeader = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        pattern="^[!-~]{8,128}$",
        description="Makes a request safe to repeat: the same key and body get the same answer for 24 hours, also if it is a"
        " refusal. After 401, 423, 429, `idempotency_in_progress` and 5xx, repeat the request with the same key. After any"
        " other refusal, use a new key.",
    ),
]
IfMatchHeader = Annotated[
    str | None,
    Header(alias="If-Match", pattern='^(\\*|"[0-9]{1,19}")$', description="ETag of the resource that you read."),
]


def admitted(action: str) -> Any:
    """Return the dependency that admits a call of this action or raises the right problem. Reads carry no key."""

    async def admit(request: Request) -> Call:
        return await admit_call(request, action)

    return Depends(admit)


async def admit_call(request: Request, action: str) -> Call:
    """Admit a call of this action or raise the right problem."""
    return await _call(request, action, None, None)


def admitted_change(action: str) -> Any:
    """Admit a POST, PUT, PATCH or DELETE, as `admitted` does, and read Idempotency-Key and If-Match."""

    async def admit(
        request: Request, idempotency_key: IdempotencyHeader = None, if_match: IfMatchHeader = None
    ) -> Call:
        return await _call(request, action, idempotency_key, if_match)

    return Depends(admit)


_declared: dict[str, frozenset[str]] = {}


def _refuse_unknown_parameters(request: Request, action: str) -> None:
    """Refuse unknown parameters: a misspelt filter must not be answered with everything."""
    if action not in _declared:
        _declared[action] = frozenset(_query_names(request.scope["route"].dependant))
    unknown = sorted(request.query_params.keys() - _declared[action])
    if unknown:
        fields = [{"where": f"query.{name}", "message": "There is no such parameter"} for name in unknown[:20]]
        raise Problem("invalid_request", f"query.{unknown[0]}: This parameter does not exist.", {"fields": fields})


def _query_names(dependant: Dependant) -> Iterator[str]:
    yield from (field.alias for field in dependant.query_params)
    for inner in dependant.dependencies:
        yield from _query_names(inner)


async def _call(request: Request, action: str, key: str | None, if_match: str | None) -> Call:
    state = request.app.state
    try:
        admission = await state.gate.admit(request, action)
    except Problem:
        _keep_key(request, request.scope["state"].get("caller"), key, if_match, admitted=False)
        raise
    if request.scope["query_string"]:
        _refuse_unknown_parameters(request, action)
    keyed = _keep_key(request, admission.actor, key, if_match, admitted=True)
    return Call(state.platform, action, admission, request, keyed, if_match)


def _keep_key(
    request: Request, caller: Actor | None, key: str | None, if_match: str | None, admitted: bool
) -> idempotency.KeyedRequest | None:
    """Leave the key on the request for a later refusal. Unauthenticated callers would all share theirs, so they have none."""
    if key is None or caller is None or caller.kind == "anonymous":
        return None
    keyed = idempotency.KeyedRequest(request.app.state.platform, caller, request, key, if_match, admitted)
    request.scope["state"]["keyed"] = keyed
    return keyed
