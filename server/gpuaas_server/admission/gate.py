"""The gate that every call passes: it authenticates the caller, asks the policy, and records refusals.

With everything cached (see directory.py) an admission is a few dictionary look-ups and no query.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from fastapi import Request

from gpuaas_server.admission import refusals
from gpuaas_server.admission.directory import Directory
from gpuaas_server.identity.service import (
    CONTROL,
    PERMISSION_OF_ACTION,
    RULES,
    CookieSecret,
    Level,
    Principal,
    Rule,
    Verdict,
    decide,
    ensure_signing_key,
    refuse_forged,
    session_slide,
)
from gpuaas_server.kernel.caller import NOBODY as ANONYMOUS
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.context import Actor, Platform
from gpuaas_server.kernel.database import NOBODY
from gpuaas_server.kernel.errors import Problem
from gpuaas_server.kernel.http.admissions import Admission, AdmittedAction
from gpuaas_server.kernel.http.call import Gate
from gpuaas_server.kernel.http.client_certificates import ShownCertificate, shown_certificate
from gpuaas_server.kernel.http.connections import mark_authenticated
from gpuaas_server.kernel.http.edge import anonymous_actor, client_address
from gpuaas_server.kernel.http.origin import cookie_source, user_agent
from gpuaas_server.kernel.http.tenant_pace import TenantPaces
from gpuaas_server.kernel.ids import is_id
from gpuaas_server.kernel.quotas import StreamQuota
from gpuaas_server.projects.service import CallTarget

_READS = ("GET", "HEAD")
_NOWHERE = CallTarget(tenant_id="")


class IdentityGate:
    """Admits calls of people and programs. `agent_gate` admits the actions of node agents, which have keys of their own."""

    def __init__(self, platform: Platform, agent_gate: Gate | None = None) -> None:
        self._platform = platform
        self._agent_gate = agent_gate
        self._directory = Directory(platform)
        self._refusals = refusals.Refusals(platform)
        self.paces = TenantPaces(platform.settings)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run while calls are served: ensure that there is a signing key, and follow changes by other processes."""
        health = self._platform.database.health
        await health.until_available(partial(ensure_signing_key, self._platform))
        await health.until_available(self._directory.open)
        try:
            yield
        finally:
            await self._directory.close()

    async def admit(self, request: Request, action: str) -> Admission:
        admission = await self._admission(request, action)
        request.scope["state"]["admitted"] = AdmittedAction(action, admission)
        return admission

    async def refused(self, request: Request, admitted: AdmittedAction, problem: Problem) -> None:
        level = RULES[admitted.action].level
        if level is Level.AGENT and self._agent_gate is not None:
            await self._agent_gate.refused(request, admitted, problem)
        elif level is not Level.PUBLIC:
            await self._refusals.by_verb(request, admitted, problem)

    async def admit_again(self, request: Request, action: str) -> Admission:
        """Admit a long call again. Unlike `admit`, accept a token that has expired since the call began."""
        return await self._admission(request, action, again=True)

    async def _admission(self, request: Request, action: str, again: bool = False) -> Admission:
        rule = RULES[action]
        if rule.level is Level.PUBLIC:
            return Admission(anonymous_actor(request), NOBODY, ANONYMOUS)
        if rule.level is Level.AGENT:
            if self._agent_gate is None:
                raise Problem("not_found")
            return await self._agent_gate.admit(request, action)
        principal = await self._principal(request, action, again)
        mark_authenticated(request)
        target = await self._requested_target(request, rule)
        return await self._admit(request, action, principal, target)

    async def _principal(self, request: Request, action: str, again: bool = False) -> Principal:
        header = request.headers.get("authorization")
        cookie = CookieSecret.of(request) if header is None else None
        if header is None and cookie is None:
            raise Problem("unauthenticated")
        try:
            if cookie is not None:
                return await self._by_cookie(request, cookie)
            scheme, _, token = (header or "").partition(" ")
            if scheme.lower() != "bearer" or not token:
                raise Problem("token_invalid", "Authorization must be `Bearer`, a space, and the token.")
            return await self._authenticate_token(token, shown_certificate(request), again)
        except Problem as problem:
            if problem.kind.status in (401, 403):
                await self._refusals.token_refused(anonymous_actor(request), action, problem.code)
            raise

    async def _by_cookie(self, request: Request, secret: CookieSecret) -> Principal:
        """Return the user of the browser session, if one of our own pages made the browser send the request."""
        refuse_forged(request, secret, self._platform.settings.public_url)
        name, now, sessions = secret.digest.hex(), self._platform.clock(), self._directory.sessions
        session = await sessions.get(name)
        if session is not None and session.expires_at <= now:
            sessions.drop(name)  # perhaps it was used elsewhere, and another replica has moved it on
            session = await sessions.get(name)
        user = None if session is None else await self._directory.principals.get(session.user_id)
        if session is None or user is None or not session.is_good(user, now):
            raise Problem("session_ended")
        if session.is_to_slide(now):
            await session_slide(self._platform, session, now)
            sessions.drop(name)
        return user

    async def principal_of(self, token: str, shown: ShownCertificate) -> Principal:
        """Tell whose token it is, for callers who sent it in another way than this API's header (the registry's)."""
        return await self._authenticate_token(token, shown)

    async def stream_quota(self, tenant_id: str, project_id: str) -> StreamQuota:
        """Return the limits of streams that are set for a tenant and a project of it."""
        return await self._directory.stream_quotas.get(f"{tenant_id} {project_id}") or StreamQuota()

    async def _authenticate_token(self, token: str, shown: ShownCertificate, again: bool = False) -> Principal:
        """Return the principal of a token, if the token is genuine and nothing has ended it since.

        `again`: it was accepted before it expired, so its expiry alone does not end it.
        """
        claims = await self._directory.claims(token)
        now = self._platform.clock()
        if claims.expires <= now.timestamp() and not again:
            raise Problem("token_expired")
        principal = await self._directory.principals.get(claims.subject)
        if principal is None or principal.kind != claims.kind or principal.auth_epoch != claims.epoch:
            raise Problem("token_invalid", "The token was revoked.")
        if principal.disabled:
            raise Problem("account_disabled")
        if principal.deleting:
            raise Problem("deletion_scheduled")
        if principal.expires_at is not None and principal.expires_at <= now:
            raise Problem("token_expired", "The service account has expired.")
        if principal.live_keys is not None:
            key_id = claims.account_key or ""
            if key_id not in principal.live_keys:
                raise Problem("token_invalid", "The key behind this token was deleted or disabled.")
            key_expires_at = principal.live_keys[key_id]
            if key_expires_at is not None and key_expires_at <= now:
                raise Problem("token_expired", "The key behind this token has expired.")
            principal.certificates.check_token(claims.certificate, shown, now)
        return principal

    async def _requested_target(self, request: Request, rule: Rule) -> CallTarget | None:
        """Return the project or tenant in the path, or None. A malformed id never reaches the database."""
        if rule.level is Level.PROJECT:
            project_id = request.path_params.get("project_id", "")
            return await self._directory.projects.get(project_id) if is_id("prj", project_id) else None
        if rule.level is Level.TENANT:
            tenant_id = request.path_params.get("tenant_id", "")
            return await self._directory.tenants.get(tenant_id) if is_id("tnt", tenant_id) else None
        return _NOWHERE

    async def _admit(self, request: Request, action: str, principal: Principal, target: CallTarget | None) -> Admission:
        actor = request.scope["state"]["caller"] = _actor(request, principal)
        if target is None:
            if principal.platform_roles:
                raise Problem("not_found")  # they see everything, so there is none; nothing was refused
            raise await self._refusals.denied(request, actor, action, Verdict.HIDDEN, None)
        principal = await self._with_consent(principal, action, target)
        verdict = decide(principal, action, target.tenant_id or None, target.project_id)
        if verdict is not Verdict.ALLOWED:
            raise await self._refusals.denied(request, actor, action, verdict, target)
        if request.method not in _READS:
            if target.deleting and not RULES[action].while_disabled:
                raise await self._refusals.target_deleting(request, actor, action, target)
            if target.disabled and not _may_while_disabled(principal, action):
                raise await self._refusals.target_disabled(request, actor, action, target)
            if target.tenant_id and not _may_while_disabled(principal, action):
                # What ends something waits for nothing: a revocation must not.
                await self.paces.changes.wait_turn(target.tenant_id)
        return Admission(actor, principal.database_scope, _caller(principal, target))

    async def _with_consent(self, principal: Principal, action: str, target: CallTarget) -> Principal:
        """Return the principal as the tenant's consent makes it: a controller in a project that is not its own."""
        permission = PERMISSION_OF_ACTION.get(action)
        elsewhere = target.project_id is not None and target.project_id not in principal.project_roles
        if permission is None or not elsewhere or not principal.scopes >= CONTROL:
            return principal
        consents = await self._directory.consents.get(f"{principal.id} {target.tenant_id} {target.project_id}") or {}
        apps = frozenset(slug for slug, permissions in consents.items() if permission in permissions)
        if not principal.apps & apps:
            return principal
        return principal.by_consent(target.tenant_id, target.project_id or "", apps)


def _may_while_disabled(principal: Principal, action: str) -> bool:
    return bool(principal.platform_roles) or RULES[action].while_disabled


def _caller(principal: Principal, target: CallTarget) -> Caller:
    roles = principal.roles_at(target.tenant_id, target.project_id) if target.tenant_id else principal.everywhere
    roles_in = partial(principal.roles_at, target.tenant_id or None)
    by_consent = bool(principal.database_scope.controller)
    return Caller(principal.id, target.tenant_id, target.project_id or "", roles, principal.apps, by_consent, roles_in)


def _actor(request: Request, principal: Principal) -> Actor:
    state = request.scope["state"]
    return Actor(
        principal.id,
        principal.kind,
        principal.name,
        principal.tenant_id,
        state["correlation_id"],
        state["traceparent"],
        client_address(request),
        user_agent(request),
        cookie_source(request),
    )
