"""The policy as a pure function: properties that hold for every rule, and some rows checked by hand."""

import itertools

import pytest
from fastapi import FastAPI
from hypothesis import given
from hypothesis import strategies as st

from gpuaas_server.identity.decisions import (
    allowed_actions,
    decide,
    grants_needed,
    grants_needed_on_others,
    is_permitted,
)
from gpuaas_server.identity.policy import RULES
from gpuaas_server.identity.policy_document import (
    RELATIONS,
    ROLES,
    assert_policy_covers,
    example_principal,
    expected,
    render_policy,
)
from gpuaas_server.identity.principals import (
    Account,
    Binding,
    Principal,
    ServiceAccountState,
    service_account_principal,
    user_principal,
)
from gpuaas_server.identity.rules import SCOPES, Level, Rule, Verdict
from gpuaas_server.kernel.caller import Caller
from gpuaas_server.kernel.http.routers import add_routes, api_router

TENANT_ROLES = ["tenant_admin", "project_admin", "project_member", "project_viewer"]
PLACED = [a for a, rule in RULES.items() if rule.level in (Level.TENANT, Level.PROJECT)]


@st.composite
def tenant_users(draw: st.DrawFn) -> Principal:
    """Anybody of tenant A, with any bindings in projects a1 to a3."""
    projects = draw(st.dictionaries(st.sampled_from(["a1", "a2", "a3"]), st.sampled_from(TENANT_ROLES[1:])))
    bindings = [Binding(role, "A", project) for project, role in projects.items()]
    if draw(st.booleans()):
        bindings.append(Binding("tenant_admin", "A"))
    return user_principal(Account("usr_a", "a", "a@a", "A"), bindings)


@st.composite
def service_accounts(draw: st.DrawFn) -> Principal:
    scopes = frozenset(draw(st.sets(st.sampled_from(SCOPES))))
    return service_account_principal(ServiceAccountState("sva_a", "a", "A", "a1", scopes, False, None, {}))


@given(st.one_of(tenant_users(), service_accounts()), st.sampled_from(PLACED), st.sampled_from(["b1", "a1"]))
def test_no_rule_lets_a_user_of_a_tenant_into_another(principal: Principal, action: str, project: str) -> None:
    assert decide(principal, action, "B", project) is Verdict.HIDDEN


@given(st.one_of(tenant_users(), service_accounts()))
def test_no_user_of_a_tenant_passes_a_rule_of_the_platform(principal: Principal) -> None:
    for action, rule in RULES.items():
        if rule.level is Level.PLATFORM:
            assert decide(principal, action) is Verdict.FORBIDDEN


@given(tenant_users(), st.sampled_from(["a1", "a2", "a3"]))
def test_a_project_is_hidden_exactly_from_those_without_a_role_in_it(principal: Principal, project: str) -> None:
    sees = bool(principal.tenant_admin_roles) or project in principal.project_roles
    verdict = decide(principal, "project_show", "A", project)
    assert verdict is (Verdict.ALLOWED if sees else Verdict.HIDDEN)


@given(service_accounts(), st.sampled_from(sorted(RULES)))
def test_a_service_account_does_only_what_one_of_its_scopes_says(principal: Principal, action: str) -> None:
    rule = RULES[action]
    if decide(principal, action, "A", "a1") is Verdict.ALLOWED and rule.level is not Level.PUBLIC:
        assert rule.scope == "service_account" or ({rule.scope} | rule.also) & principal.scopes


def test_without_a_token_only_public_actions_pass() -> None:
    for action, rule in RULES.items():
        passes = decide(None, action, "A", "a1") is Verdict.ALLOWED
        assert passes == (rule.level is Level.PUBLIC), action


def test_a_project_action_without_a_project_is_hidden_from_everybody_but_the_platform() -> None:
    for role in TENANT_ROLES:
        assert decide(example_principal(role), "allocation_show", None, None) is Verdict.HIDDEN


def test_an_unknown_action_is_an_error_and_never_a_yes() -> None:
    with pytest.raises(KeyError):
        decide(example_principal("platform_admin"), "no_such_action")


@pytest.mark.parametrize(
    "action",
    [
        "ssh_certificate_create",
        "ssh_grant_list",
        "ssh_grant_create",
        "service_account_create",
        "service_account_key_create",
        "allocation_force_cleanup",
        "allocation_create",
        "slot_approve",
        "enrolment_token_create",
        "user_update",
        "platform_role_set",
        "signing_key_rotate",
    ],
)
def test_an_operator_gets_no_secret_no_data_plane_and_no_approval(action: str) -> None:
    assert expected(action, "platform_operator", "own") == 403


@pytest.mark.parametrize(
    "action",
    [
        "node_cordon",
        "node_uncordon",
        "node_drain",
        "node_discover",
        "slot_disable",
        "slot_enable",
        "allocation_release",
        "allocation_retry_release",
        "tenant_show",
        "project_show",
        "allocation_show",
    ],
)
def test_an_operator_reads_everything_and_repairs(action: str) -> None:
    assert expected(action, "platform_operator", "other_tenant") == 200


@pytest.mark.parametrize(
    ("action", "role", "relation", "status"),
    [
        ("allocation_create", "project_member", "own", 200),
        ("allocation_create", "project_viewer", "own", 403),
        ("allocation_create", "project_member", "other_project", 404),
        ("allocation_create", "tenant_admin", "other_project", 200),
        ("allocation_create", "tenant_admin", "other_tenant", 404),
        ("allocation_show", "project_viewer", "own", 200),
        ("allocation_show", "user", "own", 404),
        ("allocation_show", "service_account", "own", 200),
        ("allocation_show", "service_account", "other_project", 404),
        ("allocation_show", "user", "anonymous", 401),
        ("project_create", "project_admin", "own", 403),
        ("project_create", "tenant_admin", "own", 200),
        ("project_create", "tenant_admin", "other_tenant", 404),
        ("tenant_create", "tenant_admin", "own", 403),
        ("service_account_create", "project_admin", "own", 200),
        ("service_account_create", "project_member", "own", 403),
        ("node_list", "tenant_admin", "own", 403),
        ("health", "user", "anonymous", 200),
        ("me_password_change", "service_account", "own", 403),
    ],
)
def test_the_table_says_what_the_contract_promises(action: str, role: str, relation: str, status: int) -> None:
    assert expected(action, role, relation) == status


def test_every_role_that_may_change_a_thing_may_also_read_it() -> None:
    for change, read in (
        ("allocation_create", "allocation_show"),
        ("allocation_release", "allocation_show"),
        ("project_update", "project_show"),
        ("service_account_create", "service_account_show"),
        ("tenant_user_update", "tenant_user_show"),
        ("node_cordon", "node_show"),
    ):
        assert RULES[change].roles <= RULES[read].roles, change


def test_force_and_outage_actions_need_a_reason() -> None:
    with_reason = {action for action, rule in RULES.items() if rule.needs_reason}
    assert {"allocation_force_cleanup", "node_retire", "node_drain", "slot_disable"} <= with_reason


def test_a_refusal_names_the_roles_and_the_scope_that_would_do() -> None:
    assert grants_needed("allocation_create") == [
        "allocations:write",
        "platform_admin",
        "project_admin",
        "project_member",
        "tenant_admin",
    ]


def test_allowed_actions_follow_the_roles_of_the_place() -> None:
    verbs = ("allocation_show", "allocation_release", "allocation_force_cleanup")
    assert allowed_actions(Caller(roles=frozenset({"project_viewer"})), verbs) == ["allocation_show"]
    assert allowed_actions(Caller(roles=frozenset({"allocations:write"})), verbs) == ["allocation_release"]
    assert allowed_actions(Caller(roles=frozenset({"platform_admin"})), verbs) == list(verbs)


def test_the_document_has_a_line_for_every_action() -> None:
    document = render_policy()
    assert all(f"| `{action}` |" in document for action in RULES)
    assert all(expected(*cell) for cell in itertools.product(RULES, ROLES, RELATIONS))


def test_an_app_with_an_endpoint_that_the_policy_does_not_know_does_not_start() -> None:
    app, router = FastAPI(), api_router()

    @router.get("/x")
    async def surprising_endpoint() -> None: ...

    add_routes(app.router, router)
    with pytest.raises(RuntimeError, match="surprising_endpoint"):
        assert_policy_covers(app)
    app = FastAPI()
    app.include_router(router)
    with pytest.raises(RuntimeError, match="use add_routes"):
        assert_policy_covers(app)


def test_further_scopes_count_in_a_rule_without_a_first_one() -> None:
    assert Rule(Level.PROJECT, frozenset({"project_admin"}), also=frozenset({"apps:control"})).grants == {
        "project_admin",
        "apps:control",
    }


def test_an_app_without_the_endpoint_of_a_rule_does_not_start() -> None:
    app = FastAPI()
    with pytest.raises(RuntimeError, match="allocation_create"):
        assert_policy_covers(app)
    assert_policy_covers(app, complete=False)


def test_a_member_reaches_what_is_their_own_and_an_administrator_what_is_anybodys() -> None:
    member, admin = (
        Caller(roles=frozenset(roles)) for roles in ({"project_member"}, {"project_member", "project_admin"})
    )
    assert [is_permitted(member, "terminal_open", own) for own in (True, False)] == [True, False]
    assert [is_permitted(admin, "terminal_open", own) for own in (True, False)] == [True, True]
    assert not is_permitted(Caller(roles=frozenset({"project_viewer"})), "terminal_open", own=True)
    assert not is_permitted(Caller(roles=frozenset({"platform_operator"})), "terminal_open", own=True)
    assert allowed_actions(member, ["terminal_open", "allocation_release"], own=False) == ["allocation_release"]
    assert "project_member" not in grants_needed_on_others("terminal_open")
