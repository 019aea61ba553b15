"""The fixture of the policy matrix: a caller of every kind, and three projects to call, all on a real server."""

import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from gpuaas_sdk import Client, NewAllocation, NewSku, NewSshGrant, Node, PasswordCredentials, ServiceAccountCredentials
from gpuaas_sdk.signatures import digest_of
from gpuaas_sdk.testing.sandbox import MODEL, Sandbox
from gpuaas_server.identity.consent_permissions import PERMISSION_OF_ACTION
from gpuaas_server.identity.decisions import decide
from gpuaas_server.identity.policy import RULES
from gpuaas_server.identity.policy_document import expected
from gpuaas_server.identity.principals import ServiceAccountState, service_account_principal
from gpuaas_server.identity.rules import SCOPES, Level
from system_support.policy_catalog import furnish_catalog
from system_support.policy_instances import furnish_instances
from system_support.policy_receipts import furnish_receipts

PEOPLE = (
    "platform_admin",
    "platform_operator",
    "tenant_admin",
    "project_admin",
    "project_member",
    "project_viewer",
    "user",  # of the tenant, without any role
)
PROGRAMS: dict[str, tuple[str, ...]] = {
    "service_account": SCOPES,
    **{f"service_account {scope}": (scope,) for scope in SCOPES},
}
CONSENTED = "controller by consent"
LISTS_OF_APPS = ("instance_list", "operation_list", "receipt_list")
RELATIONS = ("own", "other_project", "other_tenant")
_EXAMPLES = {"own": ("tnt_a", "prj_a"), "other_project": ("tnt_a", "prj_b"), "other_tenant": ("tnt_b", "prj_c")}
Ids = Mapping[str, str]


@dataclass(frozen=True)
class Caller:
    """A caller with a token and one role (or some scopes) in their own project or tenant."""

    name: str
    token: str
    password: str = ""

    def expected(self, action: str, relation: str) -> int:
        """Return the status that the policy defines: 200 (allowed), 401, 403 or 404."""
        if self.name in PEOPLE:
            return expected(action, self.name, relation)
        rule = RULES[action]
        if rule.level is Level.AGENT:
            return 401
        scopes = frozenset(PROGRAMS[self.name])
        state = ServiceAccountState("sva_a", "a", *_EXAMPLES["own"], scopes, False, None, {})
        tenant_id, project_id = _EXAMPLES[relation]
        place = (tenant_id, project_id if rule.level is Level.PROJECT else None)
        return int(decide(service_account_principal(state), action, *place).value)


@dataclass(frozen=True)
class ConsentedController(Caller):
    """The controller of a publisher in a third tenant. The tenant of the place `own` consents, and for that project alone."""

    def expected(self, action: str, relation: str) -> int:
        rule, (tenant_id, project_id) = RULES[action], _EXAMPLES[relation]
        if rule.level is Level.AGENT:
            return 401
        scopes = frozenset({"apps:control"})
        principal = service_account_principal(
            ServiceAccountState("sva_p", "p", "tnt_p", "prj_p", scopes, False, None, {})
        )
        if relation == "own" and action in PERMISSION_OF_ACTION:
            principal = principal.by_consent(tenant_id, project_id, principal.apps)
        place = (tenant_id, project_id if rule.level is Level.PROJECT else None)
        return int(decide(principal, action, *place).value)

    def finds_nothing(self, action: str, answer: httpx.Response) -> bool:
        """Tell whether an admitted call found nothing: what the tenant has there is of other apps."""
        if action in LISTS_OF_APPS:
            return answer.status_code == 200 and answer.json()["items"] == []
        return answer.status_code == 404


@dataclass(frozen=True)
class PolicyFixture:
    admin: Client
    callers: list[Caller]
    places: dict[str, Ids]  # relation → the id for every name that occurs in a path


def public_key() -> str:
    key = Ed25519PrivateKey.generate().public_key()
    return key.public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()


def tomorrow() -> datetime:
    return datetime.now(UTC) + timedelta(days=1)


@contextmanager
def policy_fixture(home: Sandbox, away: Sandbox) -> Iterator[PolicyFixture]:
    """Create all callers, and resources of every kind in each project. Node actions use nodes without allocations."""
    admin = home.admin
    with home.simulated_fleet(3, first_index=500) as nodes:
        second = admin.projects.create(home.tenant_id, f"second-{secrets.token_hex(3)}", "Second")
        tenants = {"own": home.tenant_id, "other_project": home.tenant_id, "other_tenant": away.tenant_id}
        projects = {"own": home.project_id, "other_project": second.id, "other_tenant": away.project_id}
        furnished = {r: furnish(admin, tenants[r], projects[r]) for r in RELATIONS}
        shared = set_apart(admin, nodes, {place["allocation_node"] for place in furnished.values()})
        callers = [_person(home, role) for role in PEOPLE]
        _person(away, "tenant_admin")  # somebody stays in charge there, whoever is removed
        callers += [_program(home, name, scopes) for name, scopes in PROGRAMS.items()]
        callers.append(_consented_controller(home))
        yield PolicyFixture(admin, callers, {r: {**shared, **furnished[r]} for r in RELATIONS})
        for relation in RELATIONS:
            _release_all(admin, projects[relation])


def furnish(admin: Client, tenant_id: str, project_id: str) -> dict[str, str]:
    """A member, a service account with a key, a living allocation with a grant, and one that has ended."""
    email = f"bystander-{secrets.token_hex(4)}@example.test"
    password = secrets.token_urlsafe(18)
    user = admin.users.create(tenant_id, email, "Bystander", password=password)
    admin.projects.set_member(project_id, user.id, "project_viewer")
    account = admin.service_accounts.create(project_id, f"robot-{secrets.token_hex(3)}", ["projects:read"])
    key = admin.service_accounts.create_key(project_id, account.id)
    assert key.secret is not None
    living, ended = admin.allocations.create(project_id, NewAllocation(sku="h100-slice", gpu_count=1, count=2))
    _settle(admin, project_id, [living.id, ended.id])
    admin.allocations.release(project_id, ended.id)
    _settle(admin, project_id, [ended.id])
    grant = admin.ssh_access.create_grant(
        project_id, living.id, NewSshGrant(expires_at=tomorrow(), public_key=public_key())
    )
    return {
        "tenant_id": tenant_id,
        "project_id": project_id,
        "user_id": user.id,
        "user_email": email,
        "user_password": password,
        "service_account_id": account.id,
        "key_id": key.id,
        "certificate_id": admin.service_accounts.create_certificate(project_id, account.id, certificate_request()).id,
        "key_secret": key.secret,
        "allocation_id": living.id,
        "ended_allocation_id": ended.id,
        "terminal_id": "trm_" + ended.id.removeprefix("alc_"),  # there is none
        "controller_binding_id": "cbd_" + ended.id.removeprefix("alc_"),  # nor these two
        "controller_kind_binding_id": "ckb_" + ended.id.removeprefix("alc_"),
        "controller_consent_id": "ccs_" + ended.id.removeprefix("alc_"),
        "allocation_node": living.node_id or "",
        "grant_id": grant.id,
        "credential_id": admin.access_credentials.create(project_id, f"c-{secrets.token_hex(3)}", kind="ssh_key").id,
        **furnish_artifacts(admin, tenant_id, project_id),
        **furnish_receipts(admin, project_id, living.id),
        **furnish_catalog(admin, tenant_id, project_id, published_artifact(admin, project_id)),
        **furnish_instances(admin, project_id, living.id),
    }


def furnish_artifacts(admin: Client, tenant_id: str, project_id: str) -> dict[str, str]:
    """An open publish intent, two artifacts (one of them to be revoked), and a trust key of the tenant."""
    artifacts = [published_artifact(admin, project_id) for _ in range(2)]
    return {
        "publish_intent_id": admin.publish_intents.create(project_id, "blob", "open").id,
        "artifact_id": artifacts[0],
        "doomed_artifact_id": artifacts[1],
        "absent_operation_id": f"op_{'0' * 26}",
        "number": "1",  # of a part of an upload
        "trust_key_id": admin.trust.create_key(tenant_id, "matrix", trust_key()).id,
    }


def published_artifact(admin: Client, project_id: str) -> str:
    content = secrets.token_bytes(100)
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        source = Path(file.name)
        intent = admin.publish_intents.create(project_id, "blob", "matrix")
        admin.publish_intents.upload(intent, source)
        admin.publish_intents.complete(project_id, intent.id, digest_of(source))
    registered = admin.publish_intents.wait_until_checked(project_id, intent.id, 60.0).artifact_id
    assert registered is not None
    return registered


def trust_key() -> str:
    key = generate_private_key(SECP256R1()).public_key()
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()


def certificate_request() -> str:
    request = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    return request.sign(generate_private_key(SECP256R1()), SHA256()).public_bytes(Encoding.PEM).decode()


def set_apart(admin: Client, nodes: list[Node], busy: set[str]) -> dict[str, str]:
    idle = [node.id for node in nodes if node.id not in busy]
    spare, doomed = idle[0], idle[-1]
    for node in {spare, doomed}:  # allocations that the matrix makes must not land on them
        admin.nodes.cordon(node, "set apart for the policy matrix")
    token = admin.enrolment_tokens.create(note="matrix")
    sku = admin.skus.create(
        NewSku(
            name=f"matrix-{secrets.token_hex(3)}",
            shape="gpu_slice",
            gpu_model=MODEL,
            gpu_counts=[1],
            price_per_gpu_hour_minor=1,
            currency="USD",
        )
    )
    return {
        "node_id": spare,
        "doomed_node_id": doomed,
        "slot_id": admin.slots.list(spare)[0].id,
        "task_id": admin.nodes.discover(spare).id,
        "host_report_id": "hrp_" + spare.removeprefix("nod_"),  # there is none
        "maintenance_window_id": "mtw_" + spare.removeprefix("nod_"),  # nor this
        "token_id": token.id,
        "sku_id": sku.id,
        "ssh_key_id": admin.ssh_keys.create("matrix", public_key()).id,
    }


def _person(home: Sandbox, role: str) -> Caller:
    email, password = f"{secrets.token_hex(5)}@example.test", secrets.token_urlsafe(18)
    platform = role.startswith("platform_")
    user = home.admin.users.create(None if platform else home.tenant_id, email, role, password=password)
    if platform:
        home.admin.users.set_platform_role(user.id, role)
    elif role == "tenant_admin":
        home.admin.tenants.set_member(home.tenant_id, user.id, role)
    elif role != "user":
        home.admin.projects.set_member(home.project_id, user.id, role)
    token = Client(home.server.url).sign_in(PasswordCredentials(email, password))
    return Caller(role, token.access_token, password)


def _program(home: Sandbox, name: str, scopes: tuple[str, ...]) -> Caller:
    apps = ["echo"] if "apps:control" in scopes else None  # a controller is bound to its apps
    called = f"{name} {secrets.token_hex(3)}"
    account = home.admin.service_accounts.create(home.project_id, called, scopes, app_slugs=apps)
    assert account.key is not None
    secret = account.key.secret or ""
    token = Client(home.server.url).sign_in(ServiceAccountCredentials(account.id, secret))
    return Caller(name, token.access_token)


def _consented_controller(home: Sandbox) -> Caller:
    """A controller that serves an app of another tenant, which nobody has launched."""
    admin, publisher = home.admin, Sandbox.create(home.server)
    artifact_id = published_artifact(admin, publisher.project_id)
    app = furnish_catalog(admin, publisher.tenant_id, publisher.project_id, artifact_id)
    admin.apps.set_visibility(app["app_id"], "entitled", "for the policy matrix")
    slug = app["slug"]
    name = f"publishers {secrets.token_hex(3)}"
    account = admin.service_accounts.create(publisher.project_id, name, ["apps:control"], app_slugs=[slug])
    assert account.key is not None
    admin.controller_bindings.create(publisher.project_id, slug, account.id)
    admin.entitlements.grant(home.tenant_id, slug)
    admin.controller_consents.give(home.tenant_id, slug, project_ids=[home.project_id])
    token = Client(home.server.url).sign_in(ServiceAccountCredentials(account.id, account.key.secret or ""))
    return ConsentedController(CONSENTED, token.access_token)


def _release_all(admin: Client, project_id: str) -> None:
    living = [a.id for a in admin.allocations.list(project_id) if a.state in ("requested", "provisioning", "active")]
    for allocation_id in living:
        admin.allocations.release(project_id, allocation_id)
    _settle(admin, project_id, living)


def _settle(admin: Client, project_id: str, allocation_ids: list[str]) -> None:
    if allocation_ids:
        list(admin.allocations.follow(project_id, allocation_ids, 60.0))
