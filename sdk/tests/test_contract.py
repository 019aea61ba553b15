"""The SDK against contract/openapi.json: every call exists there, every operation has a call, every field its property."""

import json
import re
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import gpuaas_sdk as sdk
from gpuaas_sdk.access import SshCa, SshEndpoint
from gpuaas_sdk.events import EventPage
from gpuaas_sdk.identity import RoleBinding, SigningKey
from gpuaas_sdk.nodes import Maintenance, SlotSummary
from gpuaas_sdk.transport import Request, Transport

CONTRACT: dict[str, Any] = json.loads((Path(__file__).parents[2] / "contract" / "openapi.json").read_text())
SCHEMAS: dict[str, Any] = CONTRACT["components"]["schemas"]
# Spoken by the keeper of the token, by other programs' libraries (JWKS), or by probes.
NOT_FOR_CLIENTS = {"auth_jwks", "auth_token", "auth_logout", "health", "ready", "metrics"}
NOW = datetime(2030, 1, 1, tzinfo=UTC)
SKU = sdk.NewSku(name="s", shape="gpu_slice", gpu_model="m", gpu_counts=[1], price_per_gpu_hour_minor=1, currency="USD")
INSTANCE = sdk.NewInstance(
    app="a", name="n", placement_intent=[sdk.PlacementIntent(component_key="k", allocation_id="a")]
)

Call = Callable[[sdk.Client], object]
CALLS: dict[str, Call] = {
    "allocation_create": lambda c: c.allocations.create(
        "p", sdk.NewAllocation(sku="s", gpu_count=1, ssh_key_ids=["k"])
    ),
    "allocation_list": lambda c: list(c.allocations.list("p", state="active")),
    "allocation_list_all": lambda c: list(c.allocations.list(None, state="active")),
    "allocation_show": lambda c: c.allocations.show("p", "a"),
    "allocation_timeline": lambda c: c.allocations.timeline("p", "a"),
    "allocation_release": lambda c: c.allocations.release("p", "a", "why"),
    "allocation_retry_release": lambda c: c.allocations.retry_release("p", "a"),
    "allocation_force_cleanup": lambda c: c.allocations.force_cleanup("p", "a", "why", "seen"),
    "publish_intent_create": lambda c: c.publish_intents.create("p", "blob", "n", media_type="a/b", size_bytes=1),
    "publish_intent_list": lambda c: list(c.publish_intents.list("p")),
    "publish_intent_show": lambda c: c.publish_intents.show("p", "i"),
    "publish_intent_upload": lambda c: c.publish_intents.upload_content("p", "i", Path(__file__)),
    "publish_intent_complete": lambda c: c.publish_intents.complete("p", "i", "sha256:0"),
    "publish_intent_cancel": lambda c: c.publish_intents.cancel("p", "i"),
    "artifact_list": lambda c: list(c.artifacts.list("p", stage="active", digest="sha256:0")),
    "artifact_show": lambda c: c.artifacts.show("p", "a"),
    "artifact_content": lambda c: c.artifacts.download("p", "a", Path("/dev/null")),
    "artifact_pull": lambda c: c.artifacts.pull("/api/v1/artifact-pulls/a", "rts", "secret"),
    "artifact_evidence_add": lambda c: c.artifacts.add_evidence("p", "a", "lint", True, tool="t", summary="s"),
    "artifact_evidence_list": lambda c: list(c.artifacts.evidence("p", "a")),
    "artifact_move": lambda c: c.artifacts.move("p", "a", "canary", "why", canary_percent=5, generation=1),
    "artifact_verify": lambda c: c.artifacts.verify("p", "a", ["c2ln"]),
    "artifact_revoke": lambda c: c.artifacts.revoke("p", "a", "why"),
    "trust_policy_show": lambda c: c.trust.policy("t"),
    "trust_policy_set": lambda c: c.trust.set_policy("t", require_signature=True, reason="why"),
    "trust_key_list": lambda c: list(c.trust.keys("t")),
    "trust_key_create": lambda c: c.trust.add_key("t", "n", "PEM"),
    "trust_key_revoke": lambda c: c.trust.revoke_key("t", "k", "why"),
    "runtime_secret_create": lambda c: c.artifacts.pull_secret("p", "o", "lease", "key"),
    "registry_token": lambda c: c.artifacts.registry_token("repository:p/n:pull"),
    "app_list": lambda c: list(c.apps.list("p")),
    "app_list_all": lambda c: list(c.apps.list(None)),
    "app_show": lambda c: c.apps.show("p", "a"),
    "app_visibility_set": lambda c: c.apps.set_visibility("a", "public", "why"),
    "app_entitlement_list": lambda c: list(c.apps.entitlements("a")),
    "app_version_register": lambda c: c.app_versions.register("p", "manifest: 1"),
    "app_version_list": lambda c: list(c.app_versions.list("p", "a")),
    "app_version_show": lambda c: c.app_versions.show("p", "a", "v"),
    "app_version_activate": lambda c: c.app_versions.activate("p", "a", "v"),
    "app_version_deprecate": lambda c: c.app_versions.deprecate("p", "a", "v", "why", NOW),
    "app_version_retire": lambda c: c.app_versions.retire("p", "a", "v", "why"),
    "catalog_list": lambda c: list(c.catalog.list("p", search="s")),
    "catalog_show": lambda c: c.catalog.show("p", "s", "1.0.0"),
    "tenant_entitlement_list": lambda c: list(c.entitlements.list("t")),
    "entitlement_grant": lambda c: c.entitlements.grant("t", "s"),
    "entitlement_revoke": lambda c: c.entitlements.revoke("t", "e"),
    "audit_list": lambda c: list(c.audit.list(sdk.AuditFilter(action="x", outcome="done", actor_id="a"))),
    "tenant_audit_list": lambda c: list(c.audit.list(sdk.AuditFilter(resource_id="r"), tenant_id="t")),
    "project_audit_list": lambda c: list(c.audit.list(sdk.AuditFilter(correlation_id="x"), project_id="p")),
    "enrolment_token_create": lambda c: c.enrolment_tokens.create(note="n"),
    "enrolment_token_list": lambda c: list(c.enrolment_tokens.list()),
    "enrolment_token_revoke": lambda c: c.enrolment_tokens.revoke("e"),
    "platform_event_list": lambda c: c.events.page(None, after="1.1", subject="s", wait=1),
    "project_event_list": lambda c: c.events.page("p", after="1.1", subject="s", wait=1),
    "me_show": lambda c: c.me.show(),
    "me_password_change": lambda c: c.me.change_password("old", "new"),
    "signing_key_list": lambda c: list(c.signing_keys.list()),
    "signing_key_rotate": lambda c: c.signing_keys.rotate(),
    "signing_key_revoke": lambda c: c.signing_keys.revoke("k"),
    "platform_key_list": lambda c: list(c.platform_keys.list()),
    "platform_key_rotate": lambda c: c.platform_keys.rotate("ssh_user_ca", "why"),
    "platform_key_retire": lambda c: c.platform_keys.retire("k", "why"),
    "ssh_key_list": lambda c: list(c.ssh_keys.list()),
    "ssh_key_create": lambda c: c.ssh_keys.create("n", "ssh-ed25519 A"),
    "ssh_key_delete": lambda c: c.ssh_keys.delete("k"),
    "ssh_ca_show": lambda c: c.ssh_keys.authorities(),
    "ssh_certificate_create": lambda c: c.ssh_access.certificate("p", "a", "ssh-ed25519 A", 5),
    "ssh_certificate_list": lambda c: list(c.ssh_access.certificates("p", "a")),
    "ssh_certificate_revoke": lambda c: c.ssh_access.revoke_certificates(
        "p", "a", reason="why", serial=1, issued_to="u"
    ),
    "ssh_grant_list": lambda c: list(c.ssh_access.grants("p", "a")),
    "ssh_grant_create": lambda c: c.ssh_access.create_grant("p", "a", expires_at=NOW, ssh_key_id="k", note="n"),
    "ssh_grant_delete": lambda c: c.ssh_access.delete_grant("p", "a", "g"),
    "instance_create": lambda c: c.instances.create("p", INSTANCE),
    "instance_list": lambda c: list(c.instances.list("p", status="running", app="a")),
    "instance_show": lambda c: c.instances.show("p", "i"),
    "instance_timeline": lambda c: c.instances.timeline("p", "i", after="x", wait=1),
    **{
        f"instance_{verb}": lambda c, verb=verb: c.instances.operate("p", "i", verb, reason="why", deadline_seconds=60)
        for verb in ("deploy", "start", "stop", "restart", "rollback", "reconcile", "repair", "decommission")
    },
    "instance_upgrade": lambda c: c.instances.upgrade("p", "i", "2.0.0", reason="why"),
    "instance_health_report": lambda c: c.controller.report_health("p", "i", "healthy", 1, reasons=[{"code": "c"}]),
    "member_list": lambda c: list(c.instances.members("p", "i", removed=True)),
    "member_show": lambda c: c.instances.member("p", "i", "m"),
    "member_operation_create": lambda c: c.instances.change_members(
        "p", "i", sdk.MemberChange(kind="replace", replacements=[("m", "a")], on_failure="stop")
    ),
    "operation_list": lambda c: list(c.operations.list("p", instance_id="i", parent_id="o", status="failed")),
    "operation_show": lambda c: c.operations.show("p", "o"),
    "operation_cancel": lambda c: c.operations.cancel("p", "o", "why"),
    "operation_force": lambda c: c.operations.force("p", "o", "why"),
    "controller_work": lambda c: c.controller.poll("p", wait=1),
    "operation_claim": lambda c: c.controller.claim("p", "o", "r"),
    "operation_report": lambda c: c.controller.report("p", "o", "l", steps=[{"name": "s"}], progress={"percent": 1}),
    "operation_complete": lambda c: c.controller.complete("p", "o", "l", members=[{"member_id": "m"}], runtime={}),
    "operation_fail": lambda c: c.controller.fail("p", "o", "l", {"code": "c", "message": "m"}),
    "operation_give_back": lambda c: c.controller.give_back("p", "o", "l"),
    "access_credential_list": lambda c: list(c.access_credentials.list("p")),
    "access_credential_show": lambda c: c.access_credentials.show("p", "c"),
    "access_credential_create": lambda c: c.access_credentials.create("p", "n", "ssh_key"),
    "access_credential_rotate": lambda c: c.access_credentials.rotate("p", "c", 5, generation=1),
    "access_credential_revoke": lambda c: c.access_credentials.revoke("p", "c", "why"),
    "access_credential_deliver": lambda c: c.access_credentials.deliver("p", "c", recipient_key="k"),
    "credential_delivery_list": lambda c: list(c.access_credentials.deliveries("p", "c")),
    "operation_machine_access": lambda c: c.ssh_access.for_operation("p", "o", "lease", "ssh-ed25519 A"),
    "secret_key_list": lambda c: list(c.secret_keys.list()),
    "secret_key_rotate": lambda c: c.secret_keys.rotate("why"),
    "receipt_list": lambda c: list(
        c.receipts.list("p", sdk.ReceiptFilter(instance_id="i", operation_id="o", allocation_id="a", status="left"))
    ),
    "receipt_show": lambda c: c.receipts.show("p", "r"),
    "node_list": lambda c: list(c.nodes.list(status="ready")),
    "node_show": lambda c: c.nodes.show("n"),
    "node_update": lambda c: c.nodes.update("n", name="x", labels={"a": "b"}, generation=1),
    "node_cordon": lambda c: c.nodes.cordon("n", "why"),
    "node_uncordon": lambda c: c.nodes.uncordon("n"),
    "node_drain": lambda c: c.nodes.drain("n", "why"),
    "node_retire": lambda c: c.nodes.retire("n", "why"),
    "node_discover": lambda c: c.nodes.discover("n"),
    "node_task_list": lambda c: list(c.nodes.tasks("n")),
    "task_show": lambda c: c.nodes.task("t"),
    "slot_list": lambda c: c.slots.list("n"),
    "slot_approve": lambda c: c.slots.approve("n", ["s"], "any"),
    "slot_disable": lambda c: c.slots.disable("s", "why"),
    "slot_enable": lambda c: c.slots.enable("s"),
    "sku_list": lambda c: list(c.skus.list()),
    "sku_create": lambda c: c.skus.create(SKU),
    "sku_update": lambda c: c.skus.update("s", offered=False, price_per_gpu_hour_minor=1, gpu_counts=[1]),
    "tenant_quota_show": lambda c: c.quotas.of_tenant("t"),
    "tenant_quota_set": lambda c: c.quotas.set_tenant("t", 1),
    "project_quota_show": lambda c: c.quotas.of_project("p"),
    "project_quota_set": lambda c: c.quotas.set_project("p", None),
    "tenant_list": lambda c: list(c.tenants.list()),
    "tenant_create": lambda c: c.tenants.create("s", "n"),
    "tenant_show": lambda c: c.tenants.show("t"),
    "tenant_update": lambda c: c.tenants.update("t", name="n", disabled=True),
    "tenant_member_list": lambda c: list(c.tenants.members("t")),
    "tenant_member_set": lambda c: c.tenants.set_member("t", "u", "tenant_admin"),
    "tenant_member_remove": lambda c: c.tenants.remove_member("t", "u"),
    "tenant_user_list": lambda c: list(c.users.list("t")),
    "tenant_user_create": lambda c: c.users.create("t", "e", "n", "p"),
    "tenant_user_show": lambda c: c.users.show("t", "u"),
    "tenant_user_update": lambda c: c.users.update("t", "u", name="n", disabled=True, unlock=True),
    "user_list": lambda c: list(c.users.list(None)),
    "user_create": lambda c: c.users.create(None, "e", "n"),
    "user_show": lambda c: c.users.show(None, "u"),
    "user_update": lambda c: c.users.update(None, "u", reset_password=True),
    "platform_role_set": lambda c: c.users.set_platform_role("u", "platform_operator"),
    "platform_role_remove": lambda c: c.users.remove_platform_role("u"),
    "project_list": lambda c: list(c.projects.list()),
    "tenant_project_list": lambda c: list(c.projects.list("t")),
    "project_create": lambda c: c.projects.create("t", "s", "n"),
    "project_show": lambda c: c.projects.show("p"),
    "project_update": lambda c: c.projects.update("p", name="n", disabled=True),
    "project_member_list": lambda c: list(c.projects.members("p")),
    "project_member_set": lambda c: c.projects.set_member("p", "u", "project_admin"),
    "project_member_remove": lambda c: c.projects.remove_member("p", "u"),
    "service_account_list": lambda c: list(c.service_accounts.list("p")),
    "service_account_create": lambda c: c.service_accounts.create("p", "n", ["allocations:read"], NOW),
    "service_account_show": lambda c: c.service_accounts.show("p", "s"),
    "service_account_update": lambda c: c.service_accounts.update("p", "s", scopes=["x"], expires_at=NOW),
    "service_account_key_list": lambda c: list(c.service_accounts.keys("p", "s")),
    "service_account_key_create": lambda c: c.service_accounts.create_key("p", "s", NOW),
    "service_account_key_delete": lambda c: c.service_accounts.delete_key("p", "s", "k"),
}

# Which schemas a record is read from; their properties together must have all of its fields.
RECORDS: dict[type[object], tuple[str, ...]] = {
    sdk.Allocation: ("Allocation",),
    sdk.Timeline: ("Timeline",),
    sdk.TimelineEntry: ("TimelineEntry",),
    sdk.Failure: ("FailureReason",),
    sdk.Artifact: ("Artifact",),
    sdk.Evidence: ("Evidence",),
    sdk.PublishIntent: ("PublishIntent",),
    sdk.TrustKey: ("TrustKey",),
    sdk.TrustPolicy: ("TrustPolicy",),
    sdk.Instance: ("Instance",),
    sdk.InstanceStarted: ("InstanceStarted",),
    sdk.InstanceMember: ("InstanceMember",),
    sdk.InstanceVersion: ("InstanceVersion",),
    sdk.InstanceTimeline: ("InstanceTimeline",),
    sdk.TimelineEvent: ("TimelineEvent",),
    sdk.HealthReason: ("HealthReason",),
    sdk.HealthAccepted: ("HealthAccepted",),
    sdk.Operation: ("Operation",),
    sdk.OperationStep: ("OperationStep",),
    sdk.OperationProgress: ("OperationProgress",),
    sdk.OperationForced: ("OperationForced",),
    sdk.WorkItem: ("WorkItem",),
    sdk.ClaimedOperation: ("ClaimedOperation",),
    sdk.LeaseRenewed: ("LeaseRenewed",),
    sdk.ControllerInstance: ("ControllerInstance",),
    sdk.ControllerMember: ("ControllerMember",),
    sdk.ControllerVersion: ("ControllerVersion",),
    sdk.ControllerAllocation: ("ControllerAllocation",),
    sdk.App: ("App",),
    sdk.AppVersion: ("AppVersion", "AppVersionDetail"),
    sdk.AuditRecord: ("AuditRecord",),
    sdk.CatalogApp: ("CatalogApp", "CatalogEntry"),
    sdk.CatalogVersion: ("CatalogVersion",),
    sdk.Entitlement: ("Entitlement",),
    sdk.EnrolmentToken: ("EnrolmentToken", "EnrolmentTokenCreated"),
    sdk.Event: ("Event",),
    EventPage: ("EventPage",),
    sdk.Me: ("Me",),
    sdk.Member: ("Member",),
    sdk.Node: ("Node",),
    Maintenance: ("Maintenance",),
    SlotSummary: ("SlotCounts",),
    sdk.Phase: ("Phase",),
    sdk.Project: ("Project",),
    sdk.Quota: ("Quota",),
    RoleBinding: ("RoleHeld",),
    sdk.Receipt: ("Receipt",),
    sdk.ReceiptCheck: ("ReceiptCheck",),
    sdk.ReceiptFinding: ("ReceiptFinding",),
    sdk.ReceiptForce: ("ReceiptForce",),
    sdk.ReceiptProblem: ("ReceiptProblem",),
    sdk.ServiceAccount: ("ServiceAccount", "NewServiceAccount"),
    sdk.ServiceAccountKey: ("ServiceAccountKey", "NewServiceAccountKey"),
    SigningKey: ("SigningKey",),
    sdk.PlatformKey: ("PlatformKey",),
    sdk.Sku: ("Sku",),
    sdk.Slot: ("Slot",),
    SshCa: ("SshCa",),
    sdk.SshCertificate: ("SshCertificate",),
    sdk.IssuedSshCertificate: ("IssuedSshCertificate",),
    sdk.RevokedSshCertificates: ("RevokedSshCertificates",),
    SshEndpoint: ("SshWayIn",),
    sdk.SshGrant: ("SshGrant",),
    sdk.SshKey: ("SshKey",),
    sdk.Task: ("Task",),
    sdk.Tenant: ("Tenant",),
    sdk.User: ("User", "UserWithPassword"),
}


class Sent(Exception):
    def __init__(self, request: Request) -> None:
        self.request = request


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> sdk.Client:
    """A client whose calls end where they would go out."""

    def stop(transport: Transport, request: Request) -> None:
        raise Sent(request)

    monkeypatch.setattr(Transport, "send", stop)
    monkeypatch.setattr(Transport, "download", stop)
    return sdk.Client("http://127.0.0.1:1", token="t")


def operations() -> dict[str, tuple[str, str, dict[str, Any]]]:
    return {
        operation["operationId"]: (method.upper(), path, operation)
        for path, methods in CONTRACT["paths"].items()
        for method, operation in methods.items()
    }


def body_properties(operation: dict[str, Any]) -> set[str]:
    content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
    name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
    return set(SCHEMAS[name]["properties"]) if name else set()


def test_every_operation_for_clients_has_a_call() -> None:
    offered = {name for name in operations() if not name.startswith("agent_")}
    assert offered - NOT_FOR_CLIENTS == set(CALLS)


@pytest.mark.parametrize("name", CALLS)
def test_the_call_is_what_the_contract_says(client: sdk.Client, name: str) -> None:
    method, path, operation = operations()[name]
    with pytest.raises(Sent) as sent:
        CALLS[name](client)
    request = sent.value.request
    assert request.method == method
    assert re.fullmatch(re.sub(r"\{[a-z_]+\}", "[^/]+", path), request.path)
    asked = {one["name"] for one in operation.get("parameters", []) if one["in"] == "query"}
    assert set(request.parameters()) <= asked
    assert set(request.body or {}) <= body_properties(operation)
    assert (request.body is None and request.content is None) == ("requestBody" not in operation)


@pytest.mark.parametrize("record", RECORDS, ids=lambda one: one.__name__)
def test_every_field_is_a_property_of_the_contract(record: type[object]) -> None:
    assert is_dataclass(record)
    properties = {name for schema in RECORDS[record] for name in SCHEMAS[schema]["properties"]}
    assert {one.name for one in fields(record)} - {"raw"} <= properties
