"""Schemathesis over the whole OpenAPI document of a running server: every check on, no 5xx, nothing undocumented.

Ids in paths are replaced by real ones most of the time, so that calls get past "there is no such thing".
"""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.specs.openapi.checks import positive_data_acceptance

from gpuaas_sdk.testing import Sandbox
from gpuaas_server.identity.policy import RULES
from gpuaas_server.kernel.operation_kinds import INSTANCE_KINDS
from system_support import schemathesis_cases
from system_support.fuzzed_controller import ASKED_BY_CONTROLLERS, FuzzedController
from system_support.nodes import NodeSignature
from system_support.schemathesis_run import FuzzedApi, assert_contract_is_current, operation_tags
from system_support.server import RunningServer

SLOW = bool(os.environ.get("GPUAAS_TEST_SLOW"))
SETTINGS = {
    "seed": 1,
    "cache": {"enabled": False},
    # The Authorization header is ours: one that schemathesis thinks it left out would be sent all the same.
    "generation": {"mode": "all", "with-security-parameters": False},
    # 412: an If-Match that was made up names a generation that is not the current one.
    "checks": {"positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "409", "412", "429"]}},
}


bounded = settings(
    max_examples=400 if SLOW else 15,
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
API = FuzzedApi(SETTINGS, bounded)
# Who may not call an operation is refused before anything of the request is read. The boundaries of every field, one by one,
# are tried by who may: a node calls what is for agents, a controller what is for controllers, and the administrator the rest.
REFUSED = API if SLOW else FuzzedApi({**SETTINGS, "phases": {"coverage": {"enabled": False}}}, bounded)
OPERATIONS = operation_tags()
OF_AGENTS = [name for name, tags in OPERATIONS.items() if "agent" in tags]
# Refusals of what a schema cannot forbid: the request is well formed, and its meaning is refused with a code of its own.
REFUSALS_OF_MEANING = {
    "user_create": {"weak_password"},
    "tenant_user_create": {"weak_password"},
    "me_password_change": {"weak_password", "account_locked"},
    "auth_token": {"account_locked"},
    "auth_session_create": {"account_locked"},
    "service_account_create": {"controller_needs_apps"},
    "service_account_update": {"controller_needs_apps"},
    "service_account_certificate_create": {"certificate_request_invalid"},  # what is between BEGIN and END
    "sku_create": {"wipe_grade_not_available"},  # which grade goes with which shape
    "sku_update": {"wipe_grade_not_available"},
    "ssh_key_create": {"ssh_key_refused"},
    "ssh_certificate_create": {"ssh_key_refused", "source_addresses_needed"},
    "ssh_grant_create": {"ssh_key_refused"},
    "agent_host_certificate": {"ssh_key_refused"},
    "agent_inventory": {"inventory_invalid"},
    "allocation_create": {"sku_not_offered"},
    "publish_intent_create": {"body_too_large"},
    "trust_key_create": {"trust_key_refused"},
    "app_version_register": {"manifest_invalid"},
    "maintenance_window_plan": {"invalid_request"},  # a window that is over, or ends before it begins
    "placement_list": {"target_too_long"},  # 256 places with the longest names
    "instance_create": {"placement_refused", "inputs_invalid", "document_invalid", "secret_invalid"},
    "app_version_smoke": {"placement_refused", "inputs_invalid", "document_invalid"},  # it launches
    "app_usage_access": {"ssh_key_refused", "source_addresses_needed"},
    "instance_secret_set": {"secret_invalid"},  # how the value is encoded
    **{f"instance_{kind}": {"options_invalid", "document_invalid"} for kind in INSTANCE_KINDS},
    "member_list": {"invalid_cursor"},  # the id of a member that is not there
    "member_operation_create": {
        "invalid_request",
        "placement_refused",
        "options_invalid",
        "document_invalid",
    },  # which fields go with which kind
    # which fields go with which kind
    "access_credential_deliver": {"invalid_request", "ssh_key_refused", "source_addresses_needed"},
    "operation_complete": {"document_too_large", "document_invalid"},
    "operation_fail": {"document_too_large", "document_invalid"},
    "instance_health_report": {"document_too_large", "document_invalid"},
    "operation_machine_access": {"ssh_key_refused", "source_addresses_needed"},
    "app_usage_report": {"usage_invalid"},
    "app_usage_list": {"invalid_cursor"},  # the id of a record that is not there
    "app_usage_totals": {"invalid_request"},  # more days than are added up at a time
}


@pytest.fixture(scope="module")
def fuzzed() -> Iterator[Sandbox]:
    """A server of its own: what is done here must not happen to other tests."""
    with RunningServer.start(login_rate_per_minute="100000", log_level="WARNING") as running:
        sandbox = Sandbox.create(running)
        sandbox.offer()
        with schemathesis_cases.disposable_resources(sandbox):
            yield sandbox


@pytest.fixture(scope="module")
def administrator(fuzzed: Sandbox) -> str:
    """Somebody else than the administrator who owns the sandbox: this one's password gets guessed at."""
    return fuzzed.bearer("platform_admin")


@pytest.fixture(scope="module")
def node(fuzzed: Sandbox) -> NodeSignature:
    signature = NodeSignature(fuzzed)
    signature.introduce()
    return signature


@pytest.fixture(scope="module")
def controlled() -> Iterator[Sandbox]:
    """A server of the controller's own: it needs a quota, a SKU and a host that nobody has fuzzed away."""
    with RunningServer.start(log_level="WARNING") as running:
        sandbox = Sandbox.create(running)
        sandbox.offer()
        with sandbox.simulated_fleet(1):
            yield sandbox


@pytest.fixture(scope="module")
def controller(controlled: Sandbox) -> FuzzedController:
    return FuzzedController(controlled)


def send(
    case: schemathesis.Case[Any],
    sandbox: Sandbox,
    adapt: Callable[[schemathesis.Case[Any]], None] = schemathesis_cases.adapt,
    **how: Any,
) -> None:
    adapt(case)
    answer = case.call(base_url=sandbox.server.url, **how)
    excluded: list[schemathesis.CheckFunction] = []
    operation_id = case.operation.definition.raw["operationId"]
    if answer.status_code >= 400 and answer.json()["code"] in REFUSALS_OF_MEANING.get(operation_id, ()):
        excluded.append(positive_data_acceptance)
    case.validate_response(answer, excluded_checks=excluded, transport_kwargs=how, headers=how.get("headers"))


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_an_administrator_gets_only_what_is_documented(operation_id: str, fuzzed: Sandbox, administrator: str) -> None:
    api = REFUSED if operation_id in {*OF_AGENTS, *ASKED_BY_CONTROLLERS} else API
    api.fuzz(operation_id, lambda case: send(case, fuzzed, headers={"Authorization": f"Bearer {administrator}"}))


@pytest.mark.parametrize("operation_id", OPERATIONS)
def test_an_unauthenticated_caller_gets_only_what_is_documented(operation_id: str, fuzzed: Sandbox) -> None:
    REFUSED.fuzz(operation_id, lambda case: send(case, fuzzed))


@pytest.mark.parametrize("operation_id", OF_AGENTS)
def test_a_node_gets_only_what_is_documented(operation_id: str, fuzzed: Sandbox, node: NodeSignature) -> None:
    API.fuzz(operation_id, lambda case: send(case, fuzzed, auth=node))


@pytest.mark.parametrize("operation_id", ASKED_BY_CONTROLLERS)
def test_a_controller_gets_only_what_is_documented(
    operation_id: str, controlled: Sandbox, controller: FuzzedController
) -> None:
    bearer = {"Authorization": f"Bearer {controller.bearer}"}
    API.fuzz(operation_id, lambda case: send(case, controlled, controller.adapt, headers=bearer))


def test_every_operation_of_the_server_is_fuzzed() -> None:
    assert_contract_is_current()


def test_every_call_of_controllers_is_fuzzed_by_one() -> None:
    scopes = {action for action, rule in RULES.items() if rule.scope == "apps:control"}
    assert set(ASKED_BY_CONTROLLERS) == scopes
