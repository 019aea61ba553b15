"""Decides by the policy: may this principal do this action, and what may a caller do to a resource. All pure."""

from collections.abc import Iterable

from gpuaas_server.identity.policy import CONTROLLERS, READ_APPS, RULES
from gpuaas_server.identity.principals import Principal
from gpuaas_server.identity.rules import Level, Verdict
from gpuaas_server.kernel.caller import Caller


def decide(
    principal: Principal | None, action: str, tenant_id: str | None = None, project_id: str | None = None
) -> Verdict:
    """Return the verdict on an action. `tenant_id` is the tenant of the requested project, or else the one in the path."""
    rule = RULES[action]
    if rule.level is Level.PUBLIC:
        return Verdict.ALLOWED
    if principal is None:
        return Verdict.UNAUTHENTICATED
    granted = _grants_of(principal, rule.level, tenant_id, project_id)
    if rule.grants & granted:
        return Verdict.ALLOWED
    hides = rule.level in (Level.TENANT, Level.PROJECT)
    return Verdict.HIDDEN if hides and not granted else Verdict.FORBIDDEN


def _grants_of(principal: Principal, level: Level, tenant_id: str | None, project_id: str | None) -> frozenset[str]:
    if level is Level.PROJECT:
        return principal.roles_at(tenant_id, project_id) if project_id is not None else frozenset()
    if level is Level.TENANT:
        return principal.roles_at(tenant_id, None)
    if level is Level.PLATFORM:
        return principal.platform_roles
    return principal.everywhere if level is Level.SIGNED_IN else frozenset()


def allowed_actions(caller: Caller, actions: Iterable[str], own: bool = True) -> list[str]:
    """Return which of the actions the caller may do in this place, for the `allowed_actions` of a resource there. `own`: the
    resource is the caller's.
    """
    return [action for action in actions if is_permitted(caller, action, own)]


def is_permitted(caller: Caller, action: str, own: bool) -> bool:
    """Tell whether the caller may do the action to a resource that is their own, or is not."""
    rule = RULES[action]
    return bool((rule.grants if own else rule.grants - rule.own_only) & caller.roles)


def grants_needed_on_others(action: str) -> list[str]:
    """Return the roles and scopes that permit the action on somebody else's resource: for the refusal's details."""
    return sorted(RULES[action].grants - RULES[action].own_only)


def sees_every_app(caller: Caller) -> bool:
    """Tell whether the caller reads all apps of the project. Else it is a controller, which sees the apps it is bound to."""
    return bool((READ_APPS.grants - CONTROLLERS) & caller.roles)


def grants_needed(action: str) -> list[str]:
    """Return the roles and scopes that permit the action: for the refusal's details."""
    return sorted(RULES[action].grants)
