"""Lists what the platform holds of a project and of a tenant, table by table: what a purge removes, and in which order.

A stage is a table whose rows are found by the place, with the tables whose rows belong to those rows. What has foreign keys
goes before what they refer to. A test insists that every table with a `tenant_id` is here or in KEPT.
"""

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Stage:
    """A table to purge. `where` picks the rows of the place (`%(place)s`); `children` are (table, column with the row's id).

    `instead`: the rows stay, and this is set in them; `kept` names their other columns. A new column goes into one of the two:
    what people wrote into `instead`, what a bill or a proof needs into `kept`. Conditions leave out what lives: it is never
    removed.
    """

    table: str
    where: str
    children: tuple[tuple[str, str], ...] = ()
    instead: str = ""
    kept: str = ""


PROJECT_STAGES = (
    Stage(
        "allocations",
        "project_id = %(place)s AND ended_at IS NOT NULL AND purged_at IS NULL",
        (
            ("allocation_transitions", "allocation_id"),
            ("allocation_resource_claims", "allocation_id"),
            ("ssh_certificates", "allocation_id"),
            ("ssh_grants", "allocation_id"),
            ("terminals", "allocation_id"),
        ),
        "name = NULL, failure = NULL, release_reason = NULL, forced = NULL, ssh_address = NULL, ssh_port = NULL,"
        " ssh_user = NULL, purged_at = %(now)s",
        "id, tenant_id, project_id, batch_id, sku_id, sku_name, shape, gpu_model, gpu_count, node_id, state, state_since,"
        " deadline_at, phase, attempt, generation, host_generation, access_wanted, access_sent, release_by, counted, unproven,"
        " baseline_sha256, wipe_requirements, wipe_evidence, release_key_generation, created_by, correlation_id, created_at,"
        " active_at, ended_at, history_removed_at",
    ),
    Stage(
        "app_operations", "project_id = %(place)s AND finished_at IS NOT NULL", (("runtime_secrets", "operation_id"),)
    ),
    Stage(
        "app_instances",
        "project_id = %(place)s AND decommissioned_at IS NOT NULL",
        (
            ("app_instance_events", "instance_id"),
            ("app_members", "instance_id"),
            ("instance_projects", "instance_id"),
            ("instance_secrets", "instance_id"),
        ),
    ),
    Stage("app_channels", "project_id = %(place)s"),
    Stage("instance_projects", "project_id = %(place)s AND until IS NOT NULL"),  # of other projects' instances
    Stage(
        "apps",
        "project_id = %(place)s",
        (
            ("app_versions", "app_id"),
            ("entitlements", "app_id"),
            ("app_channels", "app_id"),
            ("controller_bindings", "app_id"),
            ("controller_consents", "app_id"),
        ),
    ),
    Stage(
        "publish_intents",
        "project_id = %(place)s AND ended_at IS NOT NULL AND NOT EXISTS (SELECT 1 FROM work_items w"
        " WHERE w.kind = 'publish_intent' AND w.subject = publish_intents.id)",  # its bytes go first
    ),
    Stage("access_credentials", "project_id = %(place)s", (("ssh_certificates", "access_credential_id"),)),
    Stage(
        "secrets",
        "project_id = %(place)s AND destroyed_at IS NOT NULL AND (kept_in <> 'openbao' OR erased_at IS NOT NULL)",
    ),
    Stage(
        "service_accounts",
        "project_id = %(place)s",
        (
            ("service_account_keys", "service_account_id"),
            ("service_account_certificates", "service_account_id"),
            ("controller_replicas", "service_account_id"),
            ("controller_kind_bindings", "service_account_id"),
            ("idempotency_keys", "owner_id"),
        ),
    ),
    Stage("role_bindings", "project_id = %(place)s"),
    Stage("events", "project_id = %(place)s"),
    Stage("registry_usage", "project_id = %(place)s"),
    Stage("quotas", "scope_id = %(place)s"),
)
# Removed by machines of their own, because bytes outside the database go first: artifacts with artifact_evidence.
PROJECT_LAST = Stage("projects", "id = %(place)s")

TENANT_STAGES = (
    Stage(
        "users",
        "tenant_id = %(place)s",
        (
            ("role_bindings", "user_id"),
            ("sessions", "user_id"),
            ("browser_sessions", "user_id"),
            ("ssh_keys", "user_id"),
            ("idempotency_keys", "owner_id"),
        ),
    ),
    Stage("trust_keys", "tenant_id = %(place)s"),
    Stage("trust_policies", "tenant_id = %(place)s"),
    Stage("entitlements", "tenant_id = %(place)s"),
    Stage("controller_consents", "tenant_id = %(place)s"),
    Stage("quotas", "scope_id = %(place)s"),
)
TENANT_LAST = Stage("tenants", "id = %(place)s")

BY_OTHER_MACHINES = frozenset({"artifacts", "artifact_evidence"})
# What stays of a purged place, with ids and without its name: docs/howto/delete-a-tenant-or-a-project.md says the same.
KEPT: dict[str, str] = {
    "audit_records": "until their retention ends",
    "allocations": "what a bill and the proof of the wipe need: who, which GPUs, from when until when",
    "app_usage_records": "what a bill needs",
    "app_usage_days": "what a bill needs",
    "teardown_receipts": "proofs about the platform's hosts",
    "host_reports": "reports about the platform's hosts",
    "node_tasks": "orders to the platform's hosts and what they answered, until their retention ends",
    "credential_deliveries": "until their retention ends",
    "events": "those of the tenant as a whole, until their retention ends",
    "deletions": "that the place was deleted, and what was removed",
}


def purged_tables() -> frozenset[str]:
    stages = (*PROJECT_STAGES, PROJECT_LAST, *TENANT_STAGES, TENANT_LAST)
    own = {stage.table for stage in stages}
    return frozenset(own | {child for stage in stages for child, _ in stage.children}) | BY_OTHER_MACHINES
