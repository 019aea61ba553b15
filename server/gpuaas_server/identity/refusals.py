"""Refusals become audit rows of their own, in the caller's tenant: nobody reads about other tenants there."""

import re
import time

from fastapi import Request

from gpuaas_server.audit.service import AuditEntry, record
from gpuaas_server.identity.policy import Verdict, needs
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import PLATFORM
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.projects.service import ProjectPlace

_ID = re.compile(r"[a-z]{3}_[0-9a-z]{26}")
_SAME_AGAIN_SECONDS = 60.0
_MOST_REMEMBERED = 5_000


class Refusals:
    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._written: dict[tuple[str, str], float] = {}

    async def denied(
        self, request: Request, actor: Actor, action: str, verdict: Verdict, place: ProjectPlace | None
    ) -> Problem:
        await self._write(request, actor, action, place, verdict.name.lower())
        if verdict is Verdict.HIDDEN:
            return Problem("not_found")
        return Problem("forbidden", details={"needs": needs(action)})

    async def place_disabled(self, request: Request, actor: Actor, action: str, place: ProjectPlace) -> Problem:
        await self._write(request, actor, action, place, "disabled")
        return Problem(
            "forbidden",
            f"The {place.disabled} is disabled; nothing in it can be changed.",
            {"disabled": place.disabled},
        )

    async def token_refused(self, actor: Actor, action: str, code: str) -> None:
        """Counted always, written once a minute per address and reason: strangers must not fill the trail."""
        metrics.auth_refusals.labels(code).inc()
        mark, now = (actor.address, code), time.monotonic()
        if now - self._written.get(mark, -_SAME_AGAIN_SECONDS) < _SAME_AGAIN_SECONDS:
            return
        if len(self._written) >= _MOST_REMEMBERED:
            self._written.clear()
        self._written[mark] = now
        async with self._platform.transaction(PLATFORM, actor) as tx:
            await record(tx, AuditEntry(action, outcome="denied", details={"why": code}))

    async def _write(self, request: Request, actor: Actor, action: str, place: ProjectPlace | None, why: str) -> None:
        own = not actor.tenant_id or (place is not None and place.tenant_id == actor.tenant_id)
        entry = AuditEntry(
            action,
            resource_id=_asked_for(request),
            tenant_id=actor.tenant_id or None,
            project_id=place.project_id if place is not None and own else None,
            outcome="denied",
            details={"why": why},
        )
        async with self._platform.transaction(PLATFORM, actor) as tx:
            await record(tx, entry)


def _asked_for(request: Request) -> str | None:
    """The last id in the path, when it looks like one."""
    values = [value for value in request.path_params.values() if isinstance(value, str) and _ID.fullmatch(value)]
    return values[-1] if values else None
