"""For every endpoint a request that only the policy can refuse: a valid body, ids that exist, something to delete."""

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gpuaas_server.kernel.operation_kinds import INSTANCE_KINDS, KINDS
from system_support import policy_bodies as bodies
from system_support import policy_fresh as fresh
from system_support.policy_callers import (
    Caller,
    Ids,
    PolicyFixture,
    certificate_request,
    public_key,
    trust_key,
)

Body = Callable[[Caller, Ids], object]
Fresh = Callable[[PolicyFixture, Caller, Ids], Ids]
CONTROLLER = "service_account apps:control"  # bound to an app that nobody has launched
SUCCESS = frozenset({200, 201, 204})


@dataclass(frozen=True)
class Recipe:
    """`fresh` makes what an admitted call may use up; `answers` is what an admitted call may answer."""

    body: Body | Mapping[str, object] | None = None
    fresh: Fresh | None = None
    answers: frozenset[int] = SUCCESS
    ids: Mapping[str, str] | None = None  # another of the place's ids under this path name
    of_an_app: bool = False  # the controller of another app passes the policy, and finds nothing

    def body_for(self, caller: Caller, ids: Ids) -> object:
        return self.body(caller, ids) if callable(self.body) else self.body

    def answers_to(self, caller: Caller | None) -> frozenset[int]:
        return frozenset({404}) if self.of_an_app and caller and caller.name == CONTROLLER else self.answers

    def ids_for(self, ids: Ids) -> dict[str, str]:
        return {**ids, **{name: ids[other] for name, other in (self.ids or {}).items()}}


READ = Recipe()
READ_OF_APP = Recipe(of_an_app=True)
REASON = {"reason": "the policy matrix asks"}
# The state refuses these after the policy let them pass.
NOT_NOW = frozenset({409})


_LEASE = {"lease_token": f"lease_{'A' * 43}"}
# A program of the matrix is bound to another app: the policy lets it pass, the verb does not.
NOT_ITS_APP = frozenset({403})
_OPERATIONS = [kind for kind in INSTANCE_KINDS if not KINDS[kind].has_own_endpoint]

RECIPES: dict[str, Recipe] = {
    **dict.fromkeys(("health", "ready", "metrics", "auth_jwks", "agent_ca", "me_show", "ssh_ca_show"), READ),
    "auth_token": Recipe(bodies.sign_in),
    "auth_logout": Recipe(lambda caller, ids: {"refresh_token": f"gsr_{secrets.token_urlsafe(48)}"}),
    "auth_session_create": Recipe(bodies.browser_sign_in),
    "auth_session_show": Recipe(answers=frozenset({401})),  # by the cookie, which nobody of the fixture has
    "auth_session_end": Recipe(),
    "signing_key_list": READ,
    "signing_key_rotate": Recipe(),
    "signing_key_revoke": Recipe(fresh=fresh.spare_signing_key, ids={"signing_key_id": "key_id"}),
    "platform_key_list": READ,
    "deletion_list": READ,
    "platform_key_rotate": Recipe({"kind": "task_signing", **REASON}),
    # The newest of its kind stays.
    "platform_key_retire": Recipe(REASON, fresh.newest_platform_key, NOT_NOW, {"platform_key_id": "key_id"}),
    # Too weak on purpose: the call gets as far as the new password, and the token stays good.
    "me_password_change": Recipe(
        lambda caller, ids: {"current_password": caller.password or "none", "new_password": "password1234"},
        answers=frozenset({422}),
    ),
    "tenant_create": Recipe(bodies.noun),
    "tenant_list": READ,
    "tenant_show": READ,
    "tenant_update": Recipe({"name": "Renamed"}),
    "tenant_delete": Recipe(answers=NOT_NOW),  # something is in it
    "tenant_undelete": Recipe(answers=NOT_NOW),
    "tenant_export": READ,
    "project_delete": Recipe(answers=NOT_NOW),
    "project_undelete": Recipe(answers=NOT_NOW),
    "project_export": READ,
    "user_create": Recipe(bodies.user),
    "user_list": READ,
    "user_show": READ,
    "user_update": Recipe({"name": "Renamed"}),
    "user_unlock": Recipe(),
    "user_delete": Recipe(fresh=fresh.role),
    "platform_role_set": Recipe({"role": "platform_operator"}, fresh.role),
    "platform_role_remove": Recipe(fresh=fresh.role),
    "tenant_user_create": Recipe(bodies.user),
    "tenant_user_list": READ,
    "tenant_user_show": READ,
    "tenant_user_update": Recipe({"name": "Renamed"}),
    "tenant_user_unlock": Recipe(),
    "tenant_user_delete": Recipe(fresh=fresh.tenant_user),
    "tenant_member_list": READ,
    "tenant_member_set": Recipe({"role": "tenant_admin"}),
    "tenant_member_remove": Recipe(fresh=fresh.tenant_admin),
    "tenant_quota_show": READ,
    "tenant_quota_set": Recipe({"gpu_limit": 100}),
    "project_create": Recipe(bodies.noun),
    "tenant_project_list": READ,
    "project_list": READ,
    "project_show": READ,
    "project_update": Recipe({"name": "Renamed"}),
    "project_member_list": READ,
    "project_member_set": Recipe({"role": "project_viewer"}),
    "project_member_remove": Recipe(fresh=fresh.member),
    "project_quota_show": READ,
    "project_quota_set": Recipe({"gpu_limit": 100}),
    "service_account_create": Recipe(bodies.controller_account),
    "service_account_list": READ,
    "service_account_show": READ,
    "service_account_update": Recipe({"scopes": ["projects:read"]}),
    "service_account_delete": Recipe(fresh=fresh.account),
    "service_account_key_create": Recipe({}, fresh.account),
    "service_account_key_update": Recipe({"disabled": True}, fresh.account_key),
    "service_account_key_list": READ,
    "service_account_key_delete": Recipe(fresh=fresh.key),
    "service_account_certificate_create": Recipe(
        lambda caller, ids: {"certificate_request": certificate_request()}, fresh.account
    ),
    "service_account_certificate_list": READ,
    "service_account_certificate_delete": Recipe(fresh=fresh.certificate),
    "audit_list": READ,
    "retention_show": READ,
    "tenant_audit_list": READ,
    "project_audit_list": READ,
    "platform_event_list": READ,
    "project_event_list": READ,
    "receipt_list": READ,
    "receipt_list_all": READ,
    "receipt_show": READ_OF_APP,
    "enrolment_token_create": Recipe({"note": "matrix"}),
    "enrolment_token_list": READ,
    "enrolment_token_revoke": Recipe(fresh=fresh.token),
    "node_list": READ,
    "node_show": READ,
    "node_update": Recipe({"labels": {"rack": "r1"}}),
    "node_cordon": Recipe(REASON, fresh.open_node),
    "node_uncordon": Recipe(fresh=fresh.closed_node),
    "maintenance_window_plan": Recipe(
        {**REASON, "starts_at": "2030-01-01T00:00:00Z", "ends_at": "2030-01-02T00:00:00Z"},
        answers=frozenset({201, 409}),  # the node has one at a time
    ),
    "maintenance_window_list": READ,
    "maintenance_window_cancel": Recipe(REASON, answers=frozenset({404})),
    "maintenance_window_end": Recipe(answers=frozenset({404})),
    "node_key_approve": Recipe(REASON, answers=NOT_NOW),  # its agent is there
    "node_drain": Recipe(REASON, fresh.open_node),
    "node_retire": Recipe(REASON, ids={"node_id": "doomed_node_id"}),
    "node_discover": Recipe(),
    "node_task_list": READ,
    "task_show": READ,
    "slot_list": READ,
    "slot_map": READ,
    "slot_approve": Recipe({}),
    "slot_disable": Recipe(REASON),
    "slot_enable": Recipe(fresh=fresh.disabled_slot),
    **dict.fromkeys(
        (
            "agent_enrol",
            "agent_heartbeat",
            "agent_key_rotate",
            "agent_inventory",
            "agent_task_poll",
            "agent_task_progress",
            "agent_task_result",
            "agent_host_certificate",
            "agent_probe_report",
        ),
        Recipe(lambda caller, ids: {}),
    ),
    "agent_log_report": Recipe(lambda caller, ids: {}, ids={"read_id": "instance_id"}),
    "ssh_key_list": READ,
    "ssh_key_create": Recipe(lambda caller, ids: {"name": "mine", "public_key": public_key()}),
    "ssh_key_delete": Recipe(fresh=fresh.ssh_key),
    "ssh_certificate_create": Recipe(bodies.certified_key),
    "ssh_certificate_list": READ,
    "ssh_certificate_revoke": Recipe(REASON),
    "terminal_open": Recipe({}, ids={"allocation_id": "ended_allocation_id"}, answers=NOT_NOW),
    "terminal_list": READ,
    "terminal_close": Recipe(answers=frozenset({404})),
    "ssh_grant_list": READ,
    "ssh_grant_create": Recipe(bodies.grant),
    "ssh_grant_delete": Recipe(fresh=fresh.grant),
    "access_credential_create": Recipe(lambda caller, ids: {"name": bodies.slug(), "kind": "ssh_key"}),
    "access_credential_list": READ,
    "access_credential_show": READ,
    "access_credential_rotate": Recipe({}),
    "access_credential_revoke": Recipe(REASON, fresh.credential),
    "access_credential_deliver": Recipe(bodies.recipient),
    "credential_delivery_list": READ,
    # Nobody here holds a lease: for who may ask at all, there is no such operation.
    "operation_machine_access": Recipe(
        bodies.machine_access, answers=frozenset({404}), ids={"operation_id": "absent_operation_id"}
    ),
    "secret_key_list": READ,
    "secret_key_rotate": Recipe(REASON),
    "publish_intent_create": Recipe({"kind": "blob", "name": "matrix"}),
    # No registry is on the list.
    "publish_intent_refer": Recipe(
        {"name": "matrix", "reference": f"registry.example.com/a/b@sha256:{'0' * 64}"}, answers=frozenset({409})
    ),
    "publish_intent_list": READ,
    "publish_intent_show": READ,
    "publish_intent_upload": Recipe({"json": "is not what it takes"}, fresh.intent, frozenset({415})),
    "publish_intent_parts": Recipe({}, fresh.intent, NOT_NOW),  # it is sent as a whole
    "publish_intent_upload_part": Recipe({"json": "is not what it takes"}, fresh.intent, frozenset({415})),
    "publish_intent_complete": Recipe({"digest": f"sha256:{'0' * 64}"}, fresh.intent),
    "publish_intent_cancel": Recipe(fresh=fresh.intent),
    "artifact_list": READ,
    "artifact_show": READ,
    "artifact_content": READ,
    "artifact_garbage_list": READ,
    "artifact_garbage_collect": Recipe(REASON, answers=frozenset({202})),
    "artifact_evidence_add": Recipe(bodies.evidence),
    "artifact_evidence_list": READ,
    "artifact_move": Recipe({"stage": "active", **REASON}, answers=NOT_NOW),  # no draft goes there
    "artifact_verify": Recipe({}),
    "artifact_delete": Recipe(fresh=fresh.artifact, answers=frozenset({202})),
    "artifact_revoke": Recipe(REASON, answers=SUCCESS | NOT_NOW, ids={"artifact_id": "doomed_artifact_id"}),
    "artifact_pull": Recipe(answers=frozenset({401})),  # by a runtime secret, which nobody here has
    # Nobody here holds a lease: for who may ask at all, there is no such operation.
    "runtime_secret_create": Recipe(
        {"lease_token": "none", "recipient_key": f"{'A' * 43}="},
        answers=frozenset({404}),
        ids={"operation_id": "absent_operation_id"},
    ),
    "trust_policy_show": READ,
    "trust_policy_set": Recipe({"require_signature": False, **REASON}),
    "trust_key_list": READ,
    "trust_key_create": Recipe(lambda caller, ids: {"name": "new", "public_key": trust_key()}),
    "trust_key_revoke": Recipe(REASON, fresh.trust_key),
    "registry_token": Recipe(answers=NOT_NOW),  # the matrix runs without a registry
    "sku_list": READ,
    "sku_create": Recipe(bodies.sku),
    "sku_update": Recipe({"offered": False}),
    "allocation_create": Recipe({"sku": "h100-slice", "gpu_count": 1}, answers=SUCCESS | NOT_NOW),
    "allocation_list": READ,
    "allocation_list_all": READ,
    "allocation_show": READ,
    "allocation_timeline": READ,
    "allocation_topology": READ,
    "allocation_release": Recipe({}, ids={"allocation_id": "ended_allocation_id"}),
    "allocation_replace": Recipe({}, ids={"allocation_id": "ended_allocation_id"}, answers=NOT_NOW),
    "host_report_create": Recipe(REASON, ids={"allocation_id": "ended_allocation_id"}, answers=NOT_NOW),
    "host_report_list": READ,
    "host_report_clear": Recipe(REASON, answers=frozenset({404})),
    "allocation_retry_release": Recipe(answers=NOT_NOW),
    "allocation_force_cleanup": Recipe({**REASON, "evidence": "nothing was looked at, of course"}, answers=NOT_NOW),
    "instance_create": Recipe(bodies.instance, answers=frozenset({422})),
    "placement_list": Recipe(answers=frozenset({422})),  # it wants an app
    "instance_list": READ,
    "instance_show": READ_OF_APP,
    "instance_timeline": READ_OF_APP,
    "instance_secret_list": READ_OF_APP,
    # The app of the matrix declares no secret: for who may ask at all, there is none of that name.
    "instance_secret_set": Recipe({"value": "x"}, answers=frozenset({404})),
    "instance_secret_rotate": Recipe({}, answers=frozenset({404})),
    "operation_secret_read": Recipe(
        {"lease_token": "none", "recipient_key": f"{'A' * 43}="},
        answers=frozenset({404}),
        ids={"operation_id": "absent_operation_id"},
    ),
    "instance_update": Recipe({"reconcile_policy": "notify"}, answers=SUCCESS | NOT_NOW),
    "log_read": Recipe(answers=SUCCESS | NOT_NOW),  # NOT_NOW: an earlier call has ended its only member
    **{f"instance_{kind}": Recipe({}, answers=SUCCESS | NOT_NOW) for kind in _OPERATIONS},
    "instance_upgrade": Recipe({"version": "2.0.0"}, answers=NOT_NOW),
    "instance_health_report": Recipe({"status": "healthy", "generation": 1}, answers=NOT_ITS_APP),
    "served_project_list": READ_OF_APP,
    "served_project_set": Recipe(answers=NOT_NOW, ids={"served_project_id": "project_id"}),
    "served_project_remove": Recipe(answers=NOT_NOW, ids={"served_project_id": "project_id"}),
    "app_usage_report": Recipe(bodies.usage, answers=NOT_ITS_APP),
    "app_usage_access": Recipe(bodies.certified_key, answers=NOT_ITS_APP),
    "app_usage_list": READ,
    "app_usage_totals": READ,
    "member_list": READ_OF_APP,
    "member_show": READ_OF_APP,
    "member_operation_create": Recipe(bodies.drain, answers=NOT_NOW),
    "operation_list": READ,
    "operation_list_all": READ,
    "operation_show": READ_OF_APP,
    "operation_cancel": Recipe({}, answers=SUCCESS | NOT_NOW),
    "operation_force": Recipe(REASON, answers=NOT_NOW),
    "controller_work": READ,
    "controller_heartbeat": Recipe({"app": "echo", "replica": "matrix"}),
    "controller_instance_list": Recipe(answers=frozenset({422})),  # it wants an app
    "controller_replica_list": READ,
    "controller_binding_list": READ,
    # The account of the place controls nothing.
    "controller_binding_create": Recipe(bodies.controller_binding, answers=NOT_ITS_APP),
    "controller_binding_delete": Recipe(fresh=fresh.controller_binding),
    "controller_kind_binding_list": READ,
    # The project is not the platform's own, so there is none either.
    "controller_kind_binding_create": Recipe(bodies.kind_binding, answers=NOT_NOW),
    "controller_kind_binding_delete": Recipe(answers=frozenset({404})),
    "controller_offer_list": READ,
    "controller_consent_list": READ,
    "controller_consent_give": Recipe(lambda caller, ids: {"app": ids["slug"]}),
    "controller_consent_withdraw": Recipe({}, fresh.controller_consent),
    "operation_claim": Recipe({"replica": "matrix"}, answers=NOT_ITS_APP),
    "operation_report": Recipe(_LEASE, answers=NOT_ITS_APP),
    "operation_complete": Recipe(_LEASE, answers=NOT_ITS_APP),
    "operation_fail": Recipe({**_LEASE, "failure": {"code": "no_luck", "message": "No."}}, answers=NOT_ITS_APP),
    "operation_give_back": Recipe(_LEASE, answers=NOT_ITS_APP),
    "app_version_register": Recipe(bodies.app_version),
    "app_list": READ,
    "app_show": READ,
    "app_version_list": READ,
    "app_version_show": READ,
    "app_version_trial": Recipe(fresh=fresh.draft),
    "app_version_smoke": Recipe(bodies.smoke_launch, fresh.draft_on_trial, answers=frozenset({409, 422})),
    "app_version_activate": Recipe(fresh=fresh.draft),
    "app_version_canary": Recipe({"percent": 5}, fresh.draft, answers=SUCCESS | NOT_NOW),
    "app_rollback": Recipe(REASON, answers=SUCCESS | NOT_NOW),
    "catalog_channel_set": Recipe({"channel": "stable"}),
    "app_version_deprecate": Recipe({"notice": "use another"}, answers=SUCCESS | NOT_NOW),
    "app_version_retire": Recipe(REASON, fresh.draft),
    "catalog_list": READ,
    "catalog_show": READ,
    "provided_app_list": READ,
    # Only the platform's own project has such apps; an admitted call for another finds none.
    "provided_app_report": Recipe({"display_name": "X", "state": "provided"}, answers=frozenset({404})),
    "app_list_all": READ,
    "app_visibility_set": Recipe({"visibility": "private", **REASON}),
    "app_entitlement_list": READ,
    "tenant_entitlement_list": READ,
    "entitlement_grant": Recipe(lambda caller, ids: {"app": ids["slug"]}),
    "entitlement_revoke": Recipe(fresh=fresh.entitlement),
}
