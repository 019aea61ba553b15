"""Refused calls get audit rows of their own, in the caller's tenant: nobody reads about other tenants there."""

import re

from fastapi import Request

from gpuaas_server.audit.service import AuditEntry, Denials
from gpuaas_server.identity.service import PLATFORM_ROLES, Verdict, grants_needed
from gpuaas_server.kernel import metrics
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.admissions import AdmittedAction
from gpuaas_server.projects.service import CallTarget

_ID = re.compile(r"[a-z]{2,3}_[0-9a-z]{26}")


class Refusals:
    def __init__(self, platform: Platform) -> None:
        self._denials = Denials(platform)

    async def denied(
        self, request: Request, actor: Actor, action: str, verdict: Verdict, target: CallTarget | None
    ) -> Problem:
        await self._write(request, actor, action, target, verdict.name.lower())
        if verdict is Verdict.HIDDEN:
            return Problem("not_found")
        return Problem("forbidden", details={"needs": grants_needed(action)})

    async def target_disabled(self, request: Request, actor: Actor, action: str, target: CallTarget) -> Problem:
        await self._write(request, actor, action, target, "disabled")
        return Problem(
            "forbidden",
            f"The {target.disabled} is disabled; nothing in it can be changed.",
            {"disabled": target.disabled},
        )

    async def target_deleting(self, request: Request, actor: Actor, action: str, target: CallTarget) -> Problem:
        await self._write(request, actor, action, target, "deleting")
        said = f"The {target.deleting} is to be deleted; nothing in it can be changed."
        return Problem("deletion_scheduled", said, {"deleting": target.deleting})

    async def token_refused(self, actor: Actor, action: str, code: str) -> None:
        metrics.auth_refusals.labels(code).inc()
        await self._denials.write(actor, AuditEntry(action), code)

    async def by_verb(self, request: Request, admitted: AdmittedAction, problem: Problem) -> None:
        """Record that an admitted caller was refused by the verb: they named a resource that is not theirs.

        A platform role sees everything, so for its holder an absent resource is just absent.
        """
        admission = admitted.admission
        if problem.code == "not_found" and admission.caller.roles & PLATFORM_ROLES:
            return
        if problem.code in ("not_found", "forbidden"):
            target = CallTarget(admission.caller.tenant_id, request.path_params.get("project_id"))
            await self._write(request, admission.actor, admitted.action, target, problem.code, problem.target)

    async def _write(
        self, request: Request, actor: Actor, action: str, target: CallTarget | None, why: str, resource: str = ""
    ) -> None:
        own = not actor.tenant_id or (target is not None and target.tenant_id == actor.tenant_id)
        entry = AuditEntry(
            action,
            resource_id=resource if _ID.fullmatch(resource) else _asked_for(request),
            tenant_id=actor.tenant_id or None,
            project_id=target.project_id if target is not None and own else None,
        )
        await self._denials.write(actor, entry, why)


def _asked_for(request: Request) -> str | None:
    """Return the last id in the path, when it looks like one."""
    values = [value for value in request.path_params.values() if isinstance(value, str) and _ID.fullmatch(value)]
    return values[-1] if values else None
