"""Every endpoint × every kind of caller × every place, by real requests: the gate answers what the policy says.

Endpoints come from the running server's own OpenAPI document. One without a request here is on the committed list
`golden/uncovered_endpoints.txt`, which is empty, and has to be.
"""

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest

from gpuaas_sdk.testing import Sandbox
from gpuaas_server.identity.consent_permissions import PERMISSION_OF_ACTION
from gpuaas_server.identity.policy import RULES
from gpuaas_server.identity.rules import Level
from system_support.policy_callers import RELATIONS, Caller, ConsentedController, PolicyFixture, policy_fixture
from system_support.policy_requests import RECIPES, Recipe
from system_support.server import RunningServer

GOLDEN = Path(__file__).parent / "golden" / "uncovered_endpoints.txt"
RUN = secrets.token_hex(4)
CODES = {401: {"unauthenticated", "agent_signature_invalid"}, 403: {"forbidden"}, 404: {"not_found"}}


@dataclass(frozen=True)
class Endpoint:
    method: str
    path: str


@pytest.fixture(scope="module")
def endpoints(server: RunningServer) -> dict[str, Endpoint]:
    document = httpx.get(f"{server.url}/api/v1/openapi.json", timeout=60).json()
    return {
        operation["operationId"]: Endpoint(method.upper(), path)
        for path, operations in document["paths"].items()
        for method, operation in operations.items()
    }


@pytest.fixture(scope="module")
def fixture(server: RunningServer) -> Iterator[PolicyFixture]:
    home, away = Sandbox.create(server), Sandbox.create(server)
    home.offer()
    with policy_fixture(home, away) as everybody:
        yield everybody


@pytest.fixture(scope="module")
def http(server: RunningServer) -> Iterator[httpx.Client]:
    # As a proxy on the machine forwards it: who calls from the machine itself may read the metrics without a role.
    with httpx.Client(base_url=server.url, timeout=30.0, headers={"X-Forwarded-For": "192.0.2.7"}) as client:
        yield client


@dataclass(frozen=True)
class Cell:
    """One request of the matrix. Its correlation id finds it again in the audit trail."""

    action: str
    caller: Caller | None  # None: anonymous
    relation: str

    @property
    def correlation_id(self) -> str:
        who = self.caller.name.replace(" ", "_") if self.caller else "anonymous"
        return f"{RUN}:{self.action}:{who}:{self.relation}"

    @property
    def expected(self) -> int:
        if self.caller is None:
            return 200 if RULES[self.action].level is Level.PUBLIC else 401
        return self.caller.expected(self.action, self.relation)


def _cells(action: str, fixture: PolicyFixture) -> list[Cell]:
    """Where the path names no place, there is only one relation to try."""
    relations = RELATIONS if RULES[action].level in (Level.TENANT, Level.PROJECT) else RELATIONS[:1]
    cells = [Cell(action, caller, relation) for caller in fixture.callers for relation in relations]
    return [*cells, Cell(action, None, "own")]


def _ask(http: httpx.Client, fixture: PolicyFixture, endpoint: Endpoint, cell: Cell) -> httpx.Response:
    recipe = RECIPES[cell.action]
    ids = recipe.ids_for(fixture.places[cell.relation])
    caller = cell.caller or Caller("anonymous", "")
    if cell.expected == 200 and recipe.fresh is not None:
        ids |= recipe.fresh(fixture, caller, ids)
    headers = {"X-Correlation-ID": cell.correlation_id}
    if caller.token:
        headers["Authorization"] = f"Bearer {caller.token}"
    body = recipe.body_for(caller, ids)
    http.cookies.clear()  # each is let in by what they are here, and not by what somebody before them was given
    return http.request(endpoint.method, endpoint.path.format(**ids), headers=headers, json=body)


def _complaint(cell: Cell, recipe: Recipe, answer: httpx.Response) -> str | None:
    if cell.expected == 200 and isinstance(cell.caller, ConsentedController) and cell.action in PERMISSION_OF_ACTION:
        right = cell.caller.finds_nothing(cell.action, answer)
    elif cell.expected == 200:
        right = answer.status_code in recipe.answers_to(cell.caller)
    else:
        right = answer.status_code == cell.expected and answer.json()["code"] in CODES[cell.expected]
    if right:
        return None
    return f"{cell.correlation_id}: expected {cell.expected}, got {answer.status_code} {answer.text[:200]}"


@pytest.mark.parametrize("action", sorted(RECIPES))
def test_the_gate_answers_what_the_policy_says(
    action: str, fixture: PolicyFixture, endpoints: dict[str, Endpoint], http: httpx.Client
) -> None:
    cells = _cells(action, fixture)
    answers = {cell: _ask(http, fixture, endpoints[action], cell) for cell in cells}
    complaints = [_complaint(cell, RECIPES[action], answer) for cell, answer in answers.items()]
    assert [complaint for complaint in complaints if complaint] == []
    refused = {cell.correlation_id for cell in cells if cell.expected in (403, 404)}
    trail = fixture.admin.audit.list(action=action, outcome="denied")
    written = [
        record.correlation_id
        for record in trail
        if record.correlation_id.startswith(f"{RUN}:") and record.details["why"] in ("forbidden", "hidden")
    ]
    assert sorted(written) == sorted(refused)  # every refusal once, and nothing that was let in


def test_no_endpoint_is_without_an_authorisation_test(endpoints: dict[str, Endpoint]) -> None:
    uncovered = sorted(endpoints.keys() - RECIPES.keys())
    assert uncovered == GOLDEN.read_text().split()
    assert uncovered == []


def test_no_request_is_kept_for_an_endpoint_that_is_gone(endpoints: dict[str, Endpoint]) -> None:
    assert sorted(RECIPES.keys() - endpoints.keys()) == []


def test_a_refusal_says_which_roles_would_do(fixture: PolicyFixture, http: httpx.Client) -> None:
    viewer = next(caller for caller in fixture.callers if caller.name == "project_viewer")
    path = f"/api/v1/projects/{fixture.places['own']['project_id']}/allocations"
    headers = {"Authorization": f"Bearer {viewer.token}"}
    refused = http.post(path, json={"sku": "h100-slice"}, headers=headers).json()
    assert refused["code"] == "forbidden"
    assert "project_member" in refused["details"]["needs"]
