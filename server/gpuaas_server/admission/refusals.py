"""Refused calls get audit rows of their own, in the caller's tenant: nobody reads about other tenants there."""

import re

from fastapi import Request

from gpuaas_server.audit.service import AuditEntry, Denials
from gpuaas_server.identity.service import PLATFORM_ROLES, Verdict, needs
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.call import Admitted
from gpuaas_server.projects.service import AccessScope

_ID = re.compile(r"[a-z]{2,3}_[0-9a-z]{26}")


class Refusals:
    def __init__(self, platform: Platform) -> None:
        self._denials = Denials(platform)

    async def denied(
        self, request: Request, actor: Actor, action: str, verdict: Verdict, scope: AccessScope | None
    ) -> Problem:
        await self._write(request, actor, action, scope, verdict.name.lower())
        if verdict is Verdict.HIDDEN:
            return Problem("not_found")
        return Problem("forbidden", details={"needs": needs(action)})

    async def scope_disabled(self, request: Request, actor: Actor, action: str, scope: AccessScope) -> Problem:
        await self._write(request, actor, action, scope, "disabled")
        return Problem(
            "forbidden",
            f"The {scope.disabled} is disabled; nothing in it can be changed.",
            {"disabled": scope.disabled},
        )

    async def scope_deleting(self, request: Request, actor: Actor, action: str, scope: AccessScope) -> Problem:
        await self._write(request, actor, action, scope, "deleting")
        said = f"The {scope.deleting} is to be deleted; nothing in it can be changed."
        return Problem("deletion_scheduled", said, {"deleting": scope.deleting})

    async def token_refused(self, actor: Actor, action: str, code: str) -> None:
        metrics.auth_refusals.labels(code).inc()
        await self._denials.write(actor, AuditEntry(action), code)

    async def by_verb(self, request: Request, admitted: Admitted, problem: Problem) -> None:
        """Record that an admitted caller was refused by the verb: they named a resource that is not theirs.

        A platform role sees everything, so for its holder an absent resource is just absent.
        """
        admission = admitted.admission
        if problem.code == "not_found" and admission.caller.roles & PLATFORM_ROLES:
            return
        if problem.code in ("not_found", "forbidden"):
            scope = AccessScope(admission.caller.tenant_id, request.path_params.get("project_id"))
            await self._write(request, admission.actor, admitted.action, scope, problem.code, problem.target)

    async def _write(
        self, request: Request, actor: Actor, action: str, scope: AccessScope | None, why: str, target: str = ""
    ) -> None:
        own = not actor.tenant_id or (scope is not None and scope.tenant_id == actor.tenant_id)
        entry = AuditEntry(
            action,
            resource_id=target if _ID.fullmatch(target) else _asked_for(request),
            tenant_id=actor.tenant_id or None,
            project_id=scope.project_id if scope is not None and own else None,
        )
        await self._denials.write(actor, entry, why)


def _asked_for(request: Request) -> str | None:
    """The last id in the path, when it looks like one."""
    values = [value for value in request.path_params.values() if isinstance(value, str) and _ID.fullmatch(value)]
    return values[-1] if values else None
