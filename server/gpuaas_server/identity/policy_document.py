"""The policy as a document (contract/policy.md), and as expectations for the test of every endpoint."""

from collections.abc import Iterator

from fastapi import FastAPI
from fastapi.routing import APIRoute, APIWebSocketRoute

from gpuaas_server.identity.decisions import decide
from gpuaas_server.identity.policy import RULES
from gpuaas_server.identity.principals import (
    SERVICE_ACCOUNT,
    USER,
    Account,
    Binding,
    Principal,
    ServiceAccountState,
    service_account_principal,
    user_principal,
)
from gpuaas_server.identity.rules import SCOPES, Level, Rule, Verdict
from gpuaas_server.kernel.start import StartFailed

ROLES = (
    "platform_admin",
    "platform_operator",
    "tenant_admin",
    "project_admin",
    "project_member",
    "project_viewer",
    USER,  # of the tenant, without any role
    SERVICE_ACCOUNT,  # with every scope
)
RELATIONS = ("own", "other_project", "other_tenant", "anonymous")

_OWN_TENANT, _OWN_PROJECT = "tnt_own", "prj_own"
_PLACES = {
    "own": (_OWN_TENANT, _OWN_PROJECT),
    "other_project": (_OWN_TENANT, "prj_other"),
    "other_tenant": ("tnt_other", "prj_elsewhere"),
    "anonymous": (_OWN_TENANT, _OWN_PROJECT),
}
_MARKS = {200: "yes", 401: "401", 403: "403", 404: "404"}


def example_principal(role: str) -> Principal:
    """Return a principal that holds just this role, in its own tenant and project."""
    if role == SERVICE_ACCOUNT:
        scopes = frozenset(SCOPES)
        return service_account_principal(
            ServiceAccountState("sva_x", role, _OWN_TENANT, _OWN_PROJECT, scopes, False, None, {})
        )
    if role.startswith("platform_"):
        return user_principal(Account("usr_x", role, "x@x", None), [Binding(role)])
    bindings = []
    if role != USER:
        project_id = None if role == "tenant_admin" else _OWN_PROJECT
        bindings = [Binding(role, _OWN_TENANT, project_id)]
    return user_principal(Account("usr_x", role, "x@x", _OWN_TENANT), bindings)


def expected(action: str, role: str, relation: str) -> int:
    """Return the status that the gate answers: 200 (admitted), 401, 403 or 404. Agents have a gate of their own."""
    rule = RULES[action]
    if rule.level is Level.AGENT:
        return 401
    tenant_id, project_id = _PLACES[relation]
    principal = None if relation == "anonymous" else example_principal(role)
    place = (tenant_id, project_id if rule.level is Level.PROJECT else None)
    verdict: Verdict = decide(principal, action, *place)
    return verdict.value


def render_policy() -> str:
    lines = [
        "# Who may do what",
        "",
        "Generated from `identity/policy.py` by `make contract`; do not edit. Each cell says what a holder",
        "of the role gets in their own project (or tenant) / another project of the tenant / another tenant:",
        "`yes`, `403` (they see the place but lack the role) or `404` (the place is hidden from them).",
        "A single word stands for all three. Without a token everything but `public` answers `401`.",
        "`user` is a user of the tenant without a role. A service account does what a scope in the second",
        "column allows, in its project only; the table shows one that holds every scope.",
        "",
        f"| action | level, scope | {' | '.join(ROLES)} | anonymous |",
        f"|---|---|{'---|' * len(ROLES)}---|",
    ]
    lines += [_line(action, rule) for action, rule in sorted(RULES.items())]
    return "\n".join(lines) + "\n"


def _line(action: str, rule: Rule) -> str:
    where = rule.level.value
    if rule.scope is not None and rule.scope != SERVICE_ACCOUNT:
        where += "".join(f", `{scope}`" for scope in sorted({rule.scope, *rule.also}))
    if rule.needs_reason:
        where += ", with a reason"
    if rule.level is Level.AGENT:
        cells = ["by the node's key"] * len(ROLES)
    else:
        cells = [_cell(action, role) for role in ROLES]
    return f"| `{action}` | {where} | {' | '.join(cells)} | {_MARKS[expected(action, USER, 'anonymous')]} |"


def _cell(action: str, role: str) -> str:
    marks = [_MARKS[expected(action, role, relation)] for relation in RELATIONS[:3]]
    return marks[0] if len(set(marks)) == 1 else " / ".join(marks)


def assert_policy_covers(app: FastAPI, complete: bool = True) -> None:
    """Refuse to start with an endpoint without a rule, or, when the app is complete, with a rule without an endpoint."""
    offered = set(_actions(app))
    unruled = sorted(offered - RULES.keys())
    if unruled:
        raise StartFailed(f"endpoints without a rule: {', '.join(unruled)}; add a row to RULES in identity/policy.py")
    idle = sorted(RULES.keys() - offered)
    if complete and idle:
        raise StartFailed(f"rules without an endpoint: {', '.join(idle)}; remove them from RULES in identity/policy.py")


def _actions(app: FastAPI) -> Iterator[str]:
    """Yield the names of the endpoints, which are their actions. The OpenAPI document cannot be read: it needs the rules."""
    for route in app.routes:
        if hasattr(route, "original_router"):
            raise StartFailed(
                "a router was included: use add_routes of kernel/http/routers.py, which builds routes once"
            )
        if isinstance(route, APIRoute | APIWebSocketRoute) and route.name != "docs":
            yield route.name
