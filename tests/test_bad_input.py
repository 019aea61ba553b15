"""Bad input of every kind: each a problem document with its code, and nothing half done."""

import base64
import json
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from urllib.parse import quote

import httpx
import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gpuaas_sdk import Client, ServiceAccountCredentials
from gpuaas_sdk.testing import Sandbox
from gpuaas_server.identity.policy import RULES
from gpuaas_server.kernel.errors import CATALOGUE
from gpuaas_server.kernel.ids import new_id
from system_support.ledger import Ledger, until
from system_support.nodes import NodeSignature, bundle_token, token_of
from system_support.past_tokens import issue_past_token
from system_support.policy_callers import Caller, public_key
from system_support.policy_requests import RECIPES
from system_support.schemathesis_cases import RESOURCES, disposable_resources
from system_support.server import RunningServer

# What a refused request may leave behind: the trail, the counters of attempts, the marks of signed messages. The rest
# of these moves by itself.
TRACES = {"audit_records", "login_rates", "login_failures", "agent_nonces", "node_heartbeats", "agent_listeners"}
TRACES |= {"work_items", "outbox_consumers", "alembic_version"}
AGENT = "/api/v1/agent"
WRONG: list[object] = [[[]], {"a": []}, 10**30, -1.5]
TAKE_BYTES = {"publish_intent_upload", "publish_intent_upload_part"}  # and no JSON, see the tests of artifacts
NO_OBJECTS: list[object] = [[], "text", 1]
# Where each noun of apps is in a project, and the name of its id.
NOUNS_OF_APPS = {
    "apps": "app_id",
    "artifacts": "artifact_id",
    "instances": "instance_id",
    "operations": "operation_id",
    "receipts": "receipt_id",
    "access-credentials": "credential_id",
}
# Platform keys must not be changed by a test: these ids are well formed and do not exist.
NOTHING = {"platform_key_id": new_id("pky"), "signing_key_id": new_id("sgk"), "served_project_id": new_id("prj")}


@dataclass
class ApiProbe:
    """The server from outside, and the ledger to see that nothing happened inside."""

    sandbox: Sandbox
    ledger: Ledger
    http: httpx.Client
    operations: dict[str, tuple[str, str]] = field(default_factory=dict)
    controller: str = ""  # the token of an app's controller: what is for controllers is not for administrators

    def ask(self, action: str, ids: dict[str, str] | None = None, body: object = None) -> httpx.Response:
        method, path = self.operations[action]
        known = {name: quote(value, safe="") for name, value in {**NOTHING, **RESOURCES, **(ids or {})}.items()}
        own = not RULES[action].roles and RULES[action].scope == "apps:control"
        headers = {"Authorization": f"Bearer {self.controller}"} if own else None
        return self.http.request(method, path.format(**known), json=body, headers=headers)

    def content(self) -> dict[str, str]:
        """A digest of every table that a refused request must leave as it was."""
        names = [
            row["name"]
            for row in self.ledger.rows("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")
        ]
        kept = sorted(set(names) - TRACES)
        digests = ", ".join(
            f"(SELECT md5(string_agg(t::text, E'\\n' ORDER BY t::text)) FROM {name} t) AS {name}" for name in kept
        )
        return self.ledger.rows(f"SELECT {digests}")[0]


@pytest.fixture(scope="module")
def server() -> Iterator[RunningServer]:
    """With nobody beside: what other tests left undone on a shared one would move while the tables are compared."""
    with RunningServer.start(login_rate_per_minute="100000") as running:
        yield running


@pytest.fixture(scope="module")
def shared_probe(server: RunningServer) -> Iterator[ApiProbe]:
    sandbox = Sandbox.create(server)
    sandbox.offer()
    document = httpx.get(f"{server.url}/api/v1/openapi.json", timeout=60).json()
    operations = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    headers = {"Authorization": f"Bearer {sandbox.bearer('platform_admin')}"}
    with disposable_resources(sandbox), httpx.Client(base_url=server.url, headers=headers, timeout=30) as http:
        ledger = Ledger(server.database_url())
        idle = "SELECT 1 FROM node_tasks WHERE status = 'pending'"
        until(lambda: not ledger.rows(idle), "the hosts to have done all that was asked of them")
        yield ApiProbe(sandbox, ledger, http, operations, _controller(sandbox))


def _controller(sandbox: Sandbox) -> str:
    """The token of a service account that controls the app among the disposable resources."""
    apps = [RESOURCES["instance_app"]]
    account = sandbox.admin.service_accounts.create(sandbox.project_id, "probe", ["apps:control"], app_slugs=apps)
    assert account.key is not None
    secret = account.key.secret or ""
    return Client(sandbox.server.url).sign_in(ServiceAccountCredentials(account.id, secret)).access_token


@pytest.fixture
def probe(shared_probe: ApiProbe) -> Iterator[ApiProbe]:
    before = shared_probe.content()
    yield shared_probe
    assert shared_probe.content() == before


def assert_problem(answer: httpx.Response, *codes: str) -> None:
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    problem = answer.json()
    assert problem["code"] in codes, problem
    assert answer.status_code == problem["status"] == CATALOGUE[problem["code"]].status
    assert problem["next_step"]


def bodies() -> dict[str, dict[str, object]]:
    """Every endpoint that takes a body, with a good one. Agents' are signed, and tried below."""
    caller = Caller("somebody", "", "a-password-of-somebody")
    others = {name for name in RECIPES if name.startswith("agent_")} | TAKE_BYTES
    found = {name: recipe.body_for(caller, RESOURCES) for name, recipe in RECIPES.items() if name not in others}
    return {name: body for name, body in found.items() if isinstance(body, dict)}


def test_an_unknown_field_is_refused_everywhere(probe: ApiProbe) -> None:
    for action, body in bodies().items():
        assert_problem(probe.ask(action, body={**body, "surprise": 1}), "invalid_request")


def test_a_value_of_the_wrong_type_is_refused_everywhere(probe: ApiProbe) -> None:
    for action, body in bodies().items():
        for name in body:
            for wrong in WRONG:
                answer = probe.ask(action, body={**body, name: wrong})
                assert_problem(answer, "invalid_request")


def test_a_missing_body_and_one_that_is_no_object_are_refused_everywhere(probe: ApiProbe) -> None:
    for action, body in bodies().items():
        if body:  # where every field is optional, an empty object is a good body
            for wrong in NO_OBJECTS:
                assert_problem(probe.ask(action, body=wrong), "invalid_request")


def test_ids_that_are_none_and_ids_of_nothing_are_refused_everywhere(probe: ApiProbe) -> None:
    for action, (_, path) in probe.operations.items():
        names = [part[1:-1] for part in path.split("/") if part.startswith("{")]
        body = bodies().get(action)
        for name in names if not action.startswith("agent_") and action not in TAKE_BYTES else ():
            prefix = {**NOTHING, **RESOURCES}[name].partition("_")[0]
            for bad in (
                "nope",
                f"{prefix}_",
                "../../etc/passwd",
                "\0",
                f"{prefix}_{'z' * 26}",
                new_id("zzz"),
                "x" * 2000,
            ):
                assert_problem(probe.ask(action, {name: bad}, body), "invalid_request", "not_found")
            nothing = f"none-{secrets.token_hex(4)}" if name in ("slug", "secret_name") else new_id(prefix)
            # What opens by a secret alone says nothing about what is there.
            refusal = "bad_credentials" if action == "artifact_pull" else "not_found"
            assert_problem(probe.ask(action, {name: nothing}, body), refusal)


def test_a_body_beyond_the_limit_is_refused(probe: ApiProbe) -> None:
    assert_problem(probe.ask("tenant_create", body={"slug": "acme", "name": "x" * 1_100_000}), "body_too_large")


# Places of others


def test_what_belongs_to_another_tenant_is_not_there_and_the_attempt_is_written_down(
    server: RunningServer, shared_probe: ApiProbe
) -> None:
    stranger = Sandbox.create(server)
    headers = {"Authorization": f"Bearer {stranger.bearer('tenant_admin')}"}
    own = stranger.project_id
    foreign = (
        RESOURCES["tenant_id"],
        RESOURCES["project_id"],
        RESOURCES["allocation_id"],
        RESOURCES["service_account_id"],
    )
    before = shared_probe.content()
    for path in (
        f"/tenants/{foreign[0]}",
        f"/tenants/{foreign[0]}/users/{RESOURCES['user_id']}",
        f"/projects/{foreign[1]}",
        f"/projects/{foreign[1]}/allocations/{foreign[2]}",
        f"/projects/{foreign[1]}/service-accounts/{foreign[3]}",
        *(f"/projects/{foreign[1]}/{noun}/{RESOURCES[name]}" for noun, name in NOUNS_OF_APPS.items()),
    ):
        mark = f"foreign-{secrets.token_hex(6)}"
        answer = httpx.get(f"{server.url}/api/v1{path}", headers=headers | {"X-Correlation-ID": mark}, timeout=60)
        assert_problem(answer, "not_found")
        trail = shared_probe.sandbox.admin.audit.list(correlation_id=mark)
        assert [(record.outcome, record.tenant_id) for record in trail] == [("denied", stranger.tenant_id)]
    users = f"/tenants/{stranger.tenant_id}/users"
    for method, path, body, target in (
        ("GET", f"/projects/{own}/allocations/{foreign[2]}", None, foreign[2]),
        ("GET", f"/projects/{own}/allocations/{foreign[2]}/timeline", None, foreign[2]),
        ("GET", f"/projects/{own}/service-accounts/{foreign[3]}", None, foreign[3]),
        ("GET", f"{users}/{RESOURCES['user_id']}", None, RESOURCES["user_id"]),
        ("POST", f"/projects/{own}/allocations/{foreign[2]}/release", {}, foreign[2]),
        ("PUT", f"/projects/{own}/members/{RESOURCES['user_id']}", {"role": "project_viewer"}, RESOURCES["user_id"]),
        *(
            ("GET", f"/projects/{own}/{noun}/{RESOURCES[name]}", None, RESOURCES[name])
            for noun, name in NOUNS_OF_APPS.items()
        ),
        ("POST", f"/projects/{own}/instances/{RESOURCES['instance_id']}/stop", {}, RESOURCES["instance_id"]),
        ("POST", f"/projects/{own}/operations/{RESOURCES['operation_id']}/cancel", {}, RESOURCES["operation_id"]),
    ):
        mark = f"foreign-{secrets.token_hex(6)}"
        url = f"{server.url}/api/v1{path}"
        answer = httpx.request(method, url, json=body, headers=headers | {"X-Correlation-ID": mark}, timeout=60)
        assert_problem(answer, "not_found")
        (record,) = shared_probe.sandbox.admin.audit.list(correlation_id=mark)
        assert (record.outcome, record.resource_id, record.tenant_id) == ("denied", target, stranger.tenant_id)
        assert record.details == {"why": "not_found"}
    assert shared_probe.content() == before


# Tokens


def _unsigned(header: dict[str, str], payload: dict[str, object]) -> str:
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (header, payload)]
    return ".".join([*parts, ""])


def test_a_token_that_is_forged_or_over_opens_nothing(server: RunningServer, probe: ApiProbe) -> None:
    me = f"{server.url}/api/v1/me"
    genuine = str(probe.http.headers["Authorization"]).removeprefix("Bearer ")
    header, payload = jwt.get_unverified_header(genuine), jwt.decode(genuine, options={"verify_signature": False})
    user_id = payload["sub"]
    jwk = httpx.get(f"{server.url}/api/v1/auth/jwks", timeout=60).json()["keys"][0]["x"]
    later = {**payload, "exp": payload["exp"] + 10**6}
    middle = genuine.split(".")
    middle[1] = base64.urlsafe_b64encode(json.dumps(later).encode()).rstrip(b"=").decode()
    other_key = Ed25519PrivateKey.generate()
    known = {"kid": header["kid"]}
    forged = {
        "garbage": "x.y.z",
        "not signed": _unsigned({**header, "alg": "none"}, payload),
        "signed with the public key as a secret": jwt.encode(payload, jwk, "HS256", known),
        "signed by somebody else": jwt.encode(payload, other_key, "EdDSA", known),
        "with an unknown key": jwt.encode(payload, other_key, "EdDSA", {"kid": new_id("sgk")}),
        "with a longer life": ".".join(middle),
        "cut short": genuine[:-3],
        "with something after it": genuine + "AA",
        "very long": "a" * 7_000,
    }
    for what, token in forged.items():
        answer = httpx.get(me, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        assert answer.status_code == 401, what
        assert_problem(answer, "token_invalid")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")
    longer = httpx.get(me, headers={"Authorization": f"Bearer {'a' * 20_000}"}, timeout=60)
    assert_problem(longer, "header_too_large")  # nobody looks whether that is a token
    young = issue_past_token(server, probe.ledger, user_id, timedelta(minutes=1))
    assert httpx.get(me, headers={"Authorization": f"Bearer {young}"}, timeout=60).status_code == 200
    old = issue_past_token(server, probe.ledger, user_id, timedelta(minutes=16))
    assert_problem(httpx.get(me, headers={"Authorization": f"Bearer {old}"}, timeout=60), "token_expired")
    for other in ("Bearer", "Basic YTpi", genuine):
        assert_problem(httpx.get(me, headers={"Authorization": other}, timeout=60), "token_invalid")
    assert_problem(httpx.get(me, timeout=60), "unauthenticated")


# Agents


def enrol(probe: ApiProbe, token: str, key: Ed25519PrivateKey) -> httpx.Response:
    return NodeSignature(probe.sandbox, key, token=token).enrol()


def test_an_enrolment_token_serves_one_key_once(shared_probe: ApiProbe) -> None:
    token, key = bundle_token(shared_probe.sandbox), Ed25519PrivateKey.generate()
    first = enrol(shared_probe, token, key)
    assert first.status_code == 200
    before = shared_probe.content()
    again = enrol(shared_probe, token, key)
    assert (again.status_code, again.json()["node_id"]) == (200, first.json()["node_id"])
    assert_problem(enrol(shared_probe, token, Ed25519PrivateKey.generate()), "enrolment_token_used")
    assert_problem(
        enrol(shared_probe, secrets.token_urlsafe(32), Ed25519PrivateKey.generate()), "enrolment_token_invalid"
    )
    assert shared_probe.content() == before


def test_a_revoked_enrolment_token_enrols_no_node(shared_probe: ApiProbe) -> None:
    made = shared_probe.sandbox.admin.enrolment_tokens.create(note="revoked")
    shared_probe.sandbox.admin.enrolment_tokens.revoke(made.id)
    before = shared_probe.content()
    assert_problem(
        enrol(shared_probe, token_of(made.bundle or ""), Ed25519PrivateKey.generate()), "enrolment_token_invalid"
    )
    assert shared_probe.content() == before


@pytest.fixture(scope="module")
def node(shared_probe: ApiProbe) -> NodeSignature:
    signature = NodeSignature(shared_probe.sandbox)
    signature.introduce()
    return signature


def heartbeat() -> bytes:
    facts = {"agent_version": "0.1.0", "boot_id": "b", "address": "192.0.2.9", "ssh_host_public_key": public_key()}
    return json.dumps(facts).encode()


def test_a_message_of_an_agent_counts_once(node: NodeSignature, shared_probe: ApiProbe) -> None:
    body = heartbeat()
    header = node.sign("POST", f"{AGENT}/heartbeat", body)
    assert node.send("POST", "/heartbeat", body, header).status_code == 200
    before = shared_probe.content()
    assert_problem(node.send("POST", "/heartbeat", body, header), "agent_replay")
    header = node.sign("GET", f"{AGENT}/tasks", b"")
    assert node.send("GET", "/tasks", b"", header).status_code == 200
    assert_problem(node.send("GET", "/tasks", b"", header), "agent_replay")
    assert shared_probe.content() == before


def test_a_message_that_was_changed_on_the_way_is_refused(node: NodeSignature, probe: ApiProbe) -> None:
    body = heartbeat()
    header = node.sign("POST", f"{AGENT}/heartbeat", body)
    assert_problem(
        node.send("POST", "/heartbeat", body.replace(b"192.0.2.9", b"192.0.2.8"), header), "agent_signature_invalid"
    )
    assert_problem(node.send("POST", "/inventory", body, header), "agent_signature_invalid")
    assert_problem(node.send("POST", "/heartbeat?x=1", body, header), "agent_signature_invalid")
    header = node.sign("POST", f"{AGENT}/heartbeat", body)
    other = header.replace(node.node_id, RESOURCES["node_id"])
    assert_problem(node.send("POST", "/heartbeat", body, other), "agent_signature_invalid")
    nobody = header.replace(node.node_id, new_id("nod"))
    assert_problem(node.send("POST", "/heartbeat", body, nobody), "agent_signature_invalid")
    for garbage in ("", "Bearer x", "GPUAAS-AGENT", f"GPUAAS-AGENT node={node.node_id}", header[:-1], header + "x"):
        assert_problem(node.send("POST", "/heartbeat", body, garbage), "agent_signature_invalid")


def test_an_agent_with_a_wrong_clock_receives_the_time(node: NodeSignature, probe: ApiProbe) -> None:
    for offset in (-120_000, 120_000):
        body, now = heartbeat(), int(time.time() * 1000)
        answer = node.send("POST", "/heartbeat", body, node.sign("POST", f"{AGENT}/heartbeat", body, now + offset))
        assert_problem(answer, "agent_clock_skew")
        assert abs(answer.json()["details"]["server_time_ms"] - now) < 60_000


def test_an_agent_reports_on_its_own_tasks_only_and_once(node: NodeSignature, shared_probe: ApiProbe) -> None:
    task = shared_probe.sandbox.admin.nodes.discover(node.node_id)
    report: dict[str, object] = {
        "generation": task.generation,
        "status": "failed",
        "phases": [],
        "result": {},
        "evidence": {},
    }
    report["failure"] = {"code": "no", "message": "no", "next_step": "", "retryable": False}
    assert_problem(node.call("POST", f"/tasks/{RESOURCES['task_id']}/result", report), "task_not_found")
    assert_problem(node.call("POST", f"/tasks/{new_id('tsk')}/result", report), "task_not_found")
    stale = {**report, "generation": task.generation + 1}
    assert_problem(node.call("POST", f"/tasks/{task.id}/result", stale), "stale_generation")
    assert node.call("POST", f"/tasks/{task.id}/result", report).status_code == 200
    before = shared_probe.content()
    assert node.call("POST", f"/tasks/{task.id}/result", report).status_code == 200
    changed = {**report, "status": "succeeded", "failure": None}
    assert_problem(node.call("POST", f"/tasks/{task.id}/result", changed), "task_already_reported")
    assert_problem(node.call("POST", f"/tasks/{task.id}/result", {**report, "surprise": 1}), "invalid_request")
    assert shared_probe.content() == before


def test_an_inventory_that_contradicts_itself_changes_nothing(node: NodeSignature, probe: ApiProbe) -> None:
    slot = {"slot_index": 0, "gpu_model": "X1", "pci_address": "0000:01:00.0"}
    host = {"cpus": 1, "memory_mib": 1, "kernel": "6.1", "numa_nodes": []}
    for slots in ([slot, slot], [slot, {**slot, "pci_address": "0000:02:00.0"}], [slot, {**slot, "slot_index": 1}]):
        answer = node.call("POST", "/inventory", {"host": host, "slots": slots, "warnings": []})
        assert_problem(answer, "inventory_invalid")
