"""The policy: one table from action to who may do it. `decisions.py` reads it.

An action is the name of an endpoint; the app does not start when one is missing (assert_policy_covers).
"""

from gpuaas_server.identity.principals import SERVICE_ACCOUNT, USER
from gpuaas_server.identity.rules import (
    PLATFORM_ADMIN,
    PLATFORM_OPERATOR,
    PLATFORM_ROLES,
    PROJECT_ADMIN,
    PROJECT_MEMBER,
    PROJECT_VIEWER,
    TENANT_ADMIN,
    Level,
    Rule,
)
from gpuaas_server.kernel.operation_kinds import INSTANCE_KINDS, KINDS

_ADMIN = frozenset({PLATFORM_ADMIN})
_OPERATORS = PLATFORM_ROLES
_TENANT_ADMINS = _ADMIN | {TENANT_ADMIN}
_TENANT_READERS = _TENANT_ADMINS | {PLATFORM_OPERATOR}
_PROJECT_ADMINS = _TENANT_ADMINS | {PROJECT_ADMIN}
_PROJECT_USERS = _PROJECT_ADMINS | {PROJECT_MEMBER}
_PROJECT_READERS = _PROJECT_USERS | {PROJECT_VIEWER, PLATFORM_OPERATOR}

_PUBLIC = Rule(Level.PUBLIC)
_AGENT = Rule(Level.AGENT)
_ANYBODY = Rule(Level.SIGNED_IN, frozenset({USER}), SERVICE_ACCOUNT)
_PEOPLE = Rule(Level.SIGNED_IN, frozenset({USER}))
_OPERATE = Rule(Level.PLATFORM, _OPERATORS)
_ADMINISTER = Rule(Level.PLATFORM, _ADMIN)
_READ_TENANT = Rule(Level.TENANT, _TENANT_READERS)
_ADMINISTER_TENANT = Rule(Level.TENANT, _TENANT_ADMINS)
_READ_ADMIN_PARTS = Rule(Level.PROJECT, _PROJECT_ADMINS | {PLATFORM_OPERATOR})
_ADMINISTER_PROJECT = Rule(Level.PROJECT, _PROJECT_ADMINS)
_END_IN_PROJECT = Rule(Level.PROJECT, _PROJECT_ADMINS, while_disabled=True)
_READ_ALLOCATIONS = Rule(Level.PROJECT, _PROJECT_READERS, "allocations:read")
_USE_ALLOCATIONS = Rule(Level.PROJECT, _PROJECT_USERS, "allocations:write")
_READ_CREDENTIALS = Rule(Level.PROJECT, _PROJECT_USERS | {PROJECT_VIEWER}, "credentials:read")
_RELEASE = Rule(Level.PROJECT, _PROJECT_USERS | {PLATFORM_OPERATOR}, "allocations:write", while_disabled=True)
_PUBLISH = Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:publish")
_READ_ARTIFACTS = Rule(Level.PROJECT, _PROJECT_READERS, "artifacts:read")

CONTROLLERS = frozenset({"apps:control"})
# A controller reads of the apps that it is bound to, and of no others: see `sees_every_app`.
READ_APPS = Rule(Level.PROJECT, _PROJECT_READERS, "apps:operate", also=CONTROLLERS)
_OPERATE_APPS = Rule(Level.PROJECT, _PROJECT_USERS, "apps:operate")
_END_APPS = Rule(Level.PROJECT, _PROJECT_USERS, "apps:operate", while_disabled=True)
# One action for each kind of operation on a whole instance. A kind that tears it down ends something, so it stays allowed
# in a disabled project.
_INSTANCE_OPERATIONS = {
    f"instance_{name}": _END_APPS if KINDS[name].teardown else _OPERATE_APPS for name in INSTANCE_KINDS
}
# A shell in an allocation: members and service accounts in their own, administrators in all of the project.
_OWN_TERMINALS = frozenset({PROJECT_MEMBER, "allocations:write"})
_USE_TERMINALS = Rule(Level.PROJECT, _PROJECT_USERS, "allocations:write", own_only=_OWN_TERMINALS)
# To request an operation and to report on it are different permissions: no person may report.
_CONTROL = Rule(Level.PROJECT, frozenset(), "apps:control", while_disabled=True)

# The platform's process that provides apps creates what their controllers need. Of service accounts, it may change only those
# that are controllers and nothing else, so that it can give no account more than it has.
_PROVIDERS = frozenset({"apps:provide"})
_READ_ACCOUNTS = Rule(Level.PROJECT, _PROJECT_ADMINS | {PLATFORM_OPERATOR}, "apps:provide")
_PROVIDE = Rule(Level.PROJECT, _PROJECT_ADMINS, "apps:provide", own_only=_PROVIDERS)

RULES: dict[str, Rule] = {
    "health": _PUBLIC,
    "ready": _PUBLIC,
    "metrics": _OPERATE,  # and whoever is on the machine itself, see app.py
    # Signing in
    "auth_token": _PUBLIC,
    "auth_logout": _PUBLIC,  # by the refresh token
    "auth_session_create": _PUBLIC,
    "auth_session_show": _PUBLIC,  # by the cookie
    "auth_session_end": _PUBLIC,  # by the cookie
    "auth_jwks": _PUBLIC,
    "signing_key_list": _OPERATE,
    "signing_key_rotate": _ADMINISTER,
    "signing_key_revoke": _ADMINISTER,
    "platform_key_list": _OPERATE,
    "platform_key_rotate": Rule(Level.PLATFORM, _ADMIN, needs_reason=True),
    "platform_key_retire": Rule(Level.PLATFORM, _ADMIN, needs_reason=True),
    "me_show": _ANYBODY,
    "me_password_change": _PEOPLE,
    # Tenants and their people. A project admin must be able to find the people to add.
    "tenant_create": _ADMINISTER,
    "tenant_list": _PEOPLE,
    "tenant_show": Rule(Level.TENANT, _TENANT_READERS | {USER}),
    "tenant_update": Rule(Level.TENANT, _ADMIN, while_disabled=True),
    # Deletion: asking, undoing, and taking everything along before or during the grace period
    "tenant_delete": Rule(Level.TENANT, _ADMIN, while_disabled=True),
    "tenant_undelete": Rule(Level.TENANT, _ADMIN, while_disabled=True),
    "tenant_export": _ADMINISTER_TENANT,
    "deletion_list": _OPERATE,
    "project_delete": Rule(Level.PROJECT, _TENANT_ADMINS, while_disabled=True),
    "project_undelete": Rule(Level.PROJECT, _TENANT_ADMINS, while_disabled=True),
    "project_export": Rule(Level.PROJECT, _TENANT_ADMINS),
    "user_create": _ADMINISTER,
    "user_list": _OPERATE,
    "user_show": _OPERATE,
    "user_update": _ADMINISTER,
    "user_unlock": _OPERATE,
    "user_delete": _ADMINISTER,
    "platform_role_set": _ADMINISTER,
    "platform_role_remove": _ADMINISTER,
    "tenant_user_create": _ADMINISTER_TENANT,
    "tenant_user_list": Rule(Level.TENANT, _TENANT_READERS | {PROJECT_ADMIN}),
    "tenant_user_show": Rule(Level.TENANT, _TENANT_READERS | {PROJECT_ADMIN}),
    "tenant_user_update": _ADMINISTER_TENANT,
    "tenant_user_unlock": Rule(Level.TENANT, _TENANT_READERS),
    "tenant_user_delete": Rule(Level.TENANT, _TENANT_ADMINS, while_disabled=True),
    "tenant_member_list": _READ_TENANT,
    "tenant_member_set": _ADMINISTER_TENANT,
    "tenant_member_remove": _ADMINISTER_TENANT,
    "tenant_quota_show": _READ_TENANT,
    "tenant_quota_set": Rule(Level.TENANT, _ADMIN),
    # Projects
    "project_create": _ADMINISTER_TENANT,
    "tenant_project_list": _READ_TENANT,
    "project_list": Rule(Level.SIGNED_IN, frozenset({USER}), "projects:read"),
    "project_show": Rule(Level.PROJECT, _PROJECT_READERS, "projects:read"),
    "project_update": Rule(Level.PROJECT, _TENANT_ADMINS, while_disabled=True),
    "project_member_list": Rule(Level.PROJECT, _PROJECT_READERS),
    "project_member_set": _ADMINISTER_PROJECT,
    "project_member_remove": _END_IN_PROJECT,
    "project_quota_show": Rule(Level.PROJECT, _PROJECT_READERS, "projects:read"),
    "project_quota_set": Rule(Level.PROJECT, _TENANT_ADMINS),
    # Service accounts: operators read what there is, and never hold a secret
    "service_account_create": _PROVIDE,
    "service_account_list": _READ_ACCOUNTS,
    "service_account_show": _READ_ADMIN_PARTS,
    "service_account_update": _END_IN_PROJECT,
    "service_account_delete": _END_IN_PROJECT,
    "service_account_key_create": _PROVIDE,
    "service_account_key_list": _READ_ACCOUNTS,
    "service_account_key_update": _END_IN_PROJECT,
    "service_account_key_delete": Rule(
        Level.PROJECT, _PROJECT_ADMINS, "apps:provide", while_disabled=True, own_only=_PROVIDERS
    ),
    "service_account_certificate_create": _ADMINISTER_PROJECT,
    "service_account_certificate_list": _READ_ADMIN_PARTS,
    "service_account_certificate_delete": _END_IN_PROJECT,
    # What happened
    "audit_list": _OPERATE,
    "retention_show": _ANYBODY,
    "tenant_audit_list": _READ_TENANT,
    "project_audit_list": _READ_ADMIN_PARTS,
    "platform_event_list": _OPERATE,
    "project_event_list": Rule(Level.PROJECT, _PROJECT_READERS, "events:read"),
    # Nodes: operators repair, administrators decide what belongs to the platform
    "enrolment_token_create": _ADMINISTER,
    "enrolment_token_list": _OPERATE,
    "enrolment_token_revoke": _ADMINISTER,
    "node_list": _OPERATE,
    "node_show": _OPERATE,
    "node_update": _ADMINISTER,
    "node_cordon": Rule(Level.PLATFORM, _OPERATORS, needs_reason=True),
    "node_uncordon": _OPERATE,
    "maintenance_window_plan": Rule(Level.PLATFORM, _OPERATORS, needs_reason=True),
    "maintenance_window_list": _OPERATE,
    "maintenance_window_cancel": Rule(Level.PLATFORM, _OPERATORS, needs_reason=True),
    "maintenance_window_end": _OPERATE,
    "node_key_approve": Rule(Level.PLATFORM, _OPERATORS, needs_reason=True),
    "node_drain": Rule(Level.PLATFORM, _OPERATORS, needs_reason=True),
    "node_retire": Rule(Level.PLATFORM, _ADMIN, needs_reason=True),
    "node_discover": _OPERATE,
    "node_task_list": _OPERATE,
    "task_show": _OPERATE,
    "slot_map": _OPERATE,
    "slot_list": _OPERATE,
    "slot_approve": _ADMINISTER,
    "slot_disable": Rule(Level.PLATFORM, _OPERATORS, needs_reason=True),
    "slot_enable": _OPERATE,
    "agent_ca": _PUBLIC,
    "agent_enrol": _AGENT,
    "agent_heartbeat": _AGENT,
    "agent_key_rotate": _AGENT,
    "agent_inventory": _AGENT,
    "agent_task_poll": _AGENT,
    "agent_task_progress": _AGENT,
    "agent_task_result": _AGENT,
    "agent_host_certificate": _AGENT,
    "agent_probe_report": _AGENT,
    "agent_terminal_stream": _AGENT,
    "agent_log_report": _AGENT,
    # Machine access: the tenant's data plane, so not for operators
    "ssh_key_list": _PEOPLE,
    "ssh_key_create": _PEOPLE,
    "ssh_key_delete": _PEOPLE,
    "ssh_ca_show": _ANYBODY,
    "ssh_certificate_create": _USE_ALLOCATIONS,
    "ssh_certificate_list": Rule(Level.PROJECT, _PROJECT_USERS | {PROJECT_VIEWER}, "allocations:read"),
    # Administrators may revoke any certificate, others only their own: see access/certificates.py
    "ssh_certificate_revoke": Rule(
        Level.PROJECT, _PROJECT_USERS, "allocations:write", needs_reason=True, while_disabled=True
    ),
    "ssh_grant_list": Rule(Level.PROJECT, _PROJECT_USERS | {PROJECT_VIEWER}, "allocations:read"),
    "ssh_grant_create": _USE_ALLOCATIONS,
    "ssh_grant_delete": Rule(Level.PROJECT, _PROJECT_USERS, "allocations:write", while_disabled=True),
    "terminal_open": _USE_TERMINALS,
    "terminal_stream": _USE_TERMINALS,  # and only by the person who opened it: see terminals/viewer.py
    "terminal_list": Rule(Level.PROJECT, _PROJECT_USERS | {PROJECT_VIEWER}, "allocations:read"),
    "terminal_close": Rule(
        Level.PROJECT, _PROJECT_USERS, "allocations:write", while_disabled=True, own_only=_OWN_TERMINALS
    ),
    # Artifacts. Bytes are the tenant's data plane, so operators see what there is, and pull nothing
    "publish_intent_create": _PUBLISH,
    "publish_intent_refer": _PUBLISH,
    "publish_intent_list": Rule(Level.PROJECT, _PROJECT_READERS, "artifacts:publish"),
    "publish_intent_show": Rule(Level.PROJECT, _PROJECT_READERS, "artifacts:publish"),
    "publish_intent_upload": _PUBLISH,
    "publish_intent_parts": _PUBLISH,
    "publish_intent_upload_part": _PUBLISH,
    "publish_intent_complete": _PUBLISH,
    "publish_intent_cancel": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:publish", while_disabled=True),
    "artifact_list": _READ_ARTIFACTS,
    "artifact_show": _READ_ARTIFACTS,
    "artifact_content": Rule(Level.PROJECT, _PROJECT_USERS | {PROJECT_VIEWER}, "artifacts:read"),
    "artifact_garbage_list": _READ_ARTIFACTS,
    "artifact_garbage_collect": Rule(
        Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote", needs_reason=True, while_disabled=True
    ),
    "artifact_evidence_add": _PUBLISH,
    "artifact_evidence_list": _READ_ARTIFACTS,
    "artifact_move": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote", needs_reason=True),
    "artifact_verify": _PUBLISH,
    "artifact_delete": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote", while_disabled=True),
    "artifact_revoke": Rule(
        Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote", needs_reason=True, while_disabled=True
    ),
    "trust_policy_show": _READ_TENANT,
    "trust_policy_set": Rule(Level.TENANT, _TENANT_ADMINS, needs_reason=True),
    "trust_key_list": _READ_TENANT,
    "trust_key_create": _ADMINISTER_TENANT,
    "trust_key_revoke": Rule(Level.TENANT, _TENANT_ADMINS, needs_reason=True, while_disabled=True),
    "registry_token": _PUBLIC,  # by credentials of its own, see artifacts/registry_access.py
    "runtime_secret_create": Rule(Level.PROJECT, frozenset(), "apps:control", while_disabled=True),
    "artifact_pull": _PUBLIC,  # by a runtime secret
    # App instances, their members, and operations
    "instance_create": _OPERATE_APPS,
    "placement_list": Rule(Level.PROJECT, _PROJECT_READERS, "apps:operate"),
    "instance_list": READ_APPS,
    "instance_show": READ_APPS,
    "instance_timeline": READ_APPS,
    "instance_update": _OPERATE_APPS,
    "instance_secret_list": READ_APPS,
    "instance_secret_set": _OPERATE_APPS,
    "instance_secret_rotate": _OPERATE_APPS,
    "operation_secret_read": _CONTROL,
    # What apps write is the tenant's data, so not for operators
    "log_read": _OPERATE_APPS,
    **_INSTANCE_OPERATIONS,
    "instance_health_report": _CONTROL,
    # To serve a further project, the same is asked in that one: see instances/served_projects.py
    "served_project_list": READ_APPS,
    "served_project_set": _ADMINISTER_PROJECT,
    "served_project_remove": _END_IN_PROJECT,
    "member_list": READ_APPS,
    "member_show": READ_APPS,
    # Who may launch and decommission the whole may change its members; less would send people to a new launch instead.
    "member_operation_create": _OPERATE_APPS,
    "operation_list": READ_APPS,
    "operation_list_all": _OPERATE,
    "operation_show": READ_APPS,
    "receipt_list": READ_APPS,
    "receipt_list_all": _OPERATE,
    "receipt_show": READ_APPS,
    "operation_cancel": _END_APPS,
    "operation_force": Rule(Level.PROJECT, _PROJECT_ADMINS, needs_reason=True, while_disabled=True),
    # Controllers. A publisher binds them to its apps, a tenant consents to them: see consent_permissions.py
    "controller_binding_create": Rule(Level.PROJECT, _PROJECT_ADMINS, "apps:provide"),
    "controller_binding_list": Rule(Level.PROJECT, _PROJECT_READERS, "apps:provide"),
    "controller_binding_delete": _END_IN_PROJECT,
    # Of the platform's own project only: its controllers serve apps of everybody. See controllers/kind_bindings.py
    "controller_kind_binding_create": Rule(Level.PROJECT, _ADMIN, "apps:provide"),
    "controller_kind_binding_list": Rule(Level.PROJECT, _PROJECT_READERS, "apps:provide"),
    "controller_kind_binding_delete": Rule(Level.PROJECT, _ADMIN, while_disabled=True),
    "controller_replica_list": Rule(Level.PROJECT, _PROJECT_READERS),
    "controller_offer_list": _READ_TENANT,
    "controller_consent_list": _READ_TENANT,
    "controller_consent_give": _ADMINISTER_TENANT,
    "controller_consent_withdraw": Rule(Level.TENANT, _TENANT_ADMINS, while_disabled=True),
    "controller_heartbeat": _CONTROL,
    "controller_instance_list": _CONTROL,
    "controller_work": _CONTROL,
    "operation_claim": _CONTROL,
    "operation_report": _CONTROL,
    "operation_complete": _CONTROL,
    "operation_fail": _CONTROL,
    "operation_give_back": _CONTROL,
    # What apps count: their controllers report it, people of the project that it was for read it
    "app_usage_report": _CONTROL,
    "app_usage_access": _CONTROL,
    "app_usage_list": Rule(Level.PROJECT, _PROJECT_READERS, "apps:operate"),
    "app_usage_totals": Rule(Level.PROJECT, _PROJECT_READERS, "apps:operate"),
    # Credentials of a project. Getting one out of custody is more than seeing that it is there
    "access_credential_create": _ADMINISTER_PROJECT,
    "access_credential_list": _READ_CREDENTIALS,
    "access_credential_show": _READ_CREDENTIALS,
    "access_credential_rotate": _ADMINISTER_PROJECT,
    "access_credential_revoke": Rule(Level.PROJECT, _PROJECT_ADMINS, needs_reason=True, while_disabled=True),
    "access_credential_deliver": Rule(Level.PROJECT, _PROJECT_ADMINS, "credentials:use"),
    "credential_delivery_list": _READ_CREDENTIALS,
    "operation_machine_access": _CONTROL,
    "secret_key_list": _OPERATE,
    "secret_key_rotate": Rule(Level.PLATFORM, _ADMIN, needs_reason=True),
    # Capacity
    "sku_list": _ANYBODY,
    "sku_create": _ADMINISTER,
    "sku_update": _ADMINISTER,
    "allocation_create": _USE_ALLOCATIONS,
    "allocation_list": _READ_ALLOCATIONS,
    "allocation_list_all": _OPERATE,
    "allocation_show": _READ_ALLOCATIONS,
    "allocation_timeline": _READ_ALLOCATIONS,
    "allocation_topology": _READ_ALLOCATIONS,
    "allocation_release": _RELEASE,
    "allocation_replace": _USE_ALLOCATIONS,
    "host_report_create": Rule(Level.PROJECT, _PROJECT_USERS, "allocations:write", needs_reason=True),
    "host_report_list": _OPERATE,
    "host_report_clear": Rule(Level.PLATFORM, _OPERATORS, needs_reason=True),
    "allocation_retry_release": _RELEASE,
    "allocation_force_cleanup": Rule(Level.PROJECT, _ADMIN, needs_reason=True, while_disabled=True),
    # The catalogue. Publishing is a project's business; who sees an app beyond its tenant, the platform's
    "app_version_register": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:publish"),
    "app_list": Rule(Level.PROJECT, _PROJECT_READERS, "artifacts:publish"),
    "app_show": Rule(Level.PROJECT, _PROJECT_READERS, "artifacts:publish"),
    "app_version_list": Rule(Level.PROJECT, _PROJECT_READERS, "artifacts:publish"),
    "app_version_show": Rule(Level.PROJECT, _PROJECT_READERS, "artifacts:publish"),
    "app_version_trial": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:publish"),
    "app_version_smoke": Rule(Level.PROJECT, _PROJECT_ADMINS, "apps:operate"),
    "app_version_activate": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote"),
    "app_version_canary": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote"),
    "app_rollback": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote", needs_reason=True, while_disabled=True),
    "catalog_channel_set": _ADMINISTER_PROJECT,
    "app_version_deprecate": Rule(Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote", while_disabled=True),
    "app_version_retire": Rule(
        Level.PROJECT, _PROJECT_ADMINS, "artifacts:promote", needs_reason=True, while_disabled=True
    ),
    "catalog_list": Rule(Level.PROJECT, _PROJECT_READERS, "apps:operate"),
    "catalog_show": Rule(Level.PROJECT, _PROJECT_READERS, "apps:operate"),
    # Of the platform's own project only, as kind bindings are; everybody reads what comes of it.
    "provided_app_report": Rule(Level.PROJECT, _ADMIN, "apps:provide"),
    "provided_app_list": Rule(Level.PROJECT, _PROJECT_READERS, "apps:operate"),
    "app_list_all": _OPERATE,
    "app_visibility_set": Rule(Level.PLATFORM, _ADMIN, needs_reason=True),
    "app_entitlement_list": _OPERATE,
    "tenant_entitlement_list": _READ_TENANT,
    "entitlement_grant": Rule(Level.TENANT, _ADMIN),
    "entitlement_revoke": Rule(Level.TENANT, _ADMIN, while_disabled=True),
}
