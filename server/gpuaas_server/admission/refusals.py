"""Refusals become audit rows of their own, in the caller's tenant: nobody reads about other tenants there."""

import re

from fastapi import Request

from gpuaas_server.audit.service import AuditEntry, Denials
from gpuaas_server.identity.service import PLATFORM_ROLES, Verdict, needs
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Admitted
from gpuaas_server.projects.service import ProjectPlace

_ID = re.compile(r"[a-z]{2,3}_[0-9a-z]{26}")


class Refusals:
    def __init__(self, platform: Platform) -> None:
        self._denials = Denials(platform)

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

    async def place_deleting(self, request: Request, actor: Actor, action: str, place: ProjectPlace) -> Problem:
        await self._write(request, actor, action, place, "deleting")
        said = f"The {place.deleting} is to be deleted; nothing in it can be changed."
        return Problem("deletion_scheduled", said, {"deleting": place.deleting})

    async def token_refused(self, actor: Actor, action: str, code: str) -> None:
        metrics.auth_refusals.labels(code).inc()
        await self._denials.write(actor, AuditEntry(action), code)

    async def by_verb(self, request: Request, admitted: Admitted, problem: Problem) -> None:
        """What an admitted caller was refused after all: somebody else's thing, named in a place of their own.

        Who has a platform role sees everything, so to them an absent thing is just absent.
        """
        admission = admitted.admission
        if problem.code == "not_found" and admission.caller.roles & PLATFORM_ROLES:
            return
        if problem.code in ("not_found", "forbidden"):
            place = ProjectPlace(admission.caller.tenant_id, request.path_params.get("project_id"))
            await self._write(request, admission.actor, admitted.action, place, problem.code, problem.target)

    async def _write(
        self, request: Request, actor: Actor, action: str, place: ProjectPlace | None, why: str, target: str = ""
    ) -> None:
        own = not actor.tenant_id or (place is not None and place.tenant_id == actor.tenant_id)
        entry = AuditEntry(
            action,
            resource_id=target if _ID.fullmatch(target) else _asked_for(request),
            tenant_id=actor.tenant_id or None,
            project_id=place.project_id if place is not None and own else None,
        )
        await self._denials.write(actor, entry, why)


def _asked_for(request: Request) -> str | None:
    """The last id in the path, when it looks like one."""
    values = [value for value in request.path_params.values() if isinstance(value, str) and _ID.fullmatch(value)]
    return values[-1] if values else None
