"""The tables and columns of an export, in their order. A column that is not listed here, such as a new one, is not exported."""

from gpuaas_server.kernel.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ExportedTable:
    """A table to export. `kind` names it. `where` picks by the place (`%(place)s`), or, of a child, by its parents (`%(ids)s`).

    `key` orders the rows, and is what the next page is asked by.
    """

    kind: str
    table: str
    columns: str
    where: str
    key: tuple[str, ...] = ("id",)
    children: tuple["ExportedTable", ...] = ()


_OF_PROJECT = "project_id = %(place)s"
_OF_TENANT = "tenant_id = %(place)s"
_OF_ALLOCATION = "allocation_id = ANY(%(ids)s)"
_OF_INSTANCE = "instance_id = ANY(%(ids)s)"

_ALLOCATIONS = ExportedTable(
    "allocation",
    "allocations",
    "id, tenant_id, project_id, batch_id, name, sku_name, shape, gpu_model, gpu_count, node_id, state, state_since,"
    " failure, release_reason, ssh_address, ssh_port, ssh_user, wipe_evidence, forced, created_by, created_at, active_at,"
    " ended_at, correlation_id",
    _OF_PROJECT,
    children=(
        ExportedTable(
            "allocation_transition",
            "allocation_transitions",
            "allocation_id, generation, at, state, phase, failure, actor, reason",
            _OF_ALLOCATION,
            ("allocation_id", "generation"),
        ),
        ExportedTable(
            "ssh_certificate",
            "ssh_certificates",
            "serial, allocation_id, key_id, issued_to, fingerprint, valid_before, revoked_at, created_at, operation_id",
            _OF_ALLOCATION,
            ("serial",),
        ),
        ExportedTable(
            "ssh_grant",
            "ssh_grants",
            "id, allocation_id, granted_to, public_key, fingerprint, note, expires_at, revoked_at, created_at",
            _OF_ALLOCATION,
        ),
        ExportedTable(
            "terminal",
            "terminals",
            "id, allocation_id, status, opened_by, opened_by_name, address, opened_at, ended_at, reason, bytes_in,"
            " bytes_out, created_at",
            _OF_ALLOCATION,
        ),
        ExportedTable(
            "host_report",
            "host_reports",
            "id, allocation_id, node_id, reason, reported_by, created_at, cleared_at",
            _OF_ALLOCATION,
        ),
    ),
)
_INSTANCES = ExportedTable(
    "instance",
    "app_instances",
    "id, tenant_id, project_id, name, app_id, app_slug, version, runtime_version, digest, inputs, placement_intent, status,"
    " status_since, failure, health, health_since, health_reasons, bound_capacity_shape, reconcile_policy, runtime,"
    " access_bundle, created_by,"
    " created_at, deployed_at, decommissioned_at, correlation_id",
    _OF_PROJECT,
    children=(
        ExportedTable(
            "instance_member",
            "app_members",
            "id, instance_id, ordinal, component_key, allocation_id, node_id, shape, status, status_since, failure,"
            " created_at,"
            " ready_at, removed_at",
            _OF_INSTANCE,
        ),
        ExportedTable(
            "served_project",
            "instance_projects",
            "instance_id, project_id, slug, home, since, until, added_by",
            _OF_INSTANCE,
            ("instance_id", "project_id"),
        ),
        ExportedTable(
            "instance_secret",
            "instance_secrets",
            "instance_id, name, version, set_at, set_by, operation_id, read_at",
            _OF_INSTANCE,
            ("instance_id", "name"),
        ),
        ExportedTable(
            "instance_event",
            "app_instance_events",
            "instance_id, sequence, at, type, subject, actor, correlation_id, data",
            _OF_INSTANCE,
            ("instance_id", "sequence"),
        ),
    ),
)
_EVENT_COLUMNS = "id, time, type, subject, tenant_id, project_id, correlation_id, data, transaction_id, sequence"
_AUDIT_COLUMNS = (
    "id, at, tenant_id, project_id, actor_id, actor_kind, actor_name, address, action, outcome, resource_id, reason,"
    " details, correlation_id, user_agent, source, site"
)
PROJECT_TABLES = (
    ExportedTable(
        "project",
        "projects",
        "id, tenant_id, slug, name, disabled, delete_after, created_at",
        "id = %(place)s",
    ),
    ExportedTable(
        "project_member", "role_bindings", "user_id, role, project_id, created_at", _OF_PROJECT, ("user_id",)
    ),
    ExportedTable(
        "quota",
        "quotas",
        "scope_id, gpu_limit, gpus_used, artifact_limit, artifacts_used, artifact_byte_limit, artifact_bytes_used,"
        " unproven_gpu_limit, unproven_gpus, stream_limit",
        "scope_id = %(place)s",
        ("scope_id",),
    ),
    ExportedTable(
        "service_account",
        "service_accounts",
        "id, project_id, name, scopes, app_slugs, disabled, expires_at, created_by, created_at",
        _OF_PROJECT,
        children=(
            ExportedTable(
                "service_account_key",
                "service_account_keys",
                "id, service_account_id, disabled, expires_at, last_used_at, created_at",
                "service_account_id = ANY(%(ids)s)",
            ),
            ExportedTable(
                "service_account_certificate",
                "service_account_certificates",
                "id, service_account_id, thumbprint, expires_at, created_by, created_at, last_used_at",
                "service_account_id = ANY(%(ids)s)",
            ),
        ),
    ),
    ExportedTable(
        "access_credential",
        "access_credentials",
        "id, project_id, name, kind, version, public_key, fingerprint, created_by, created_at, rotated_at, revoked_at",
        _OF_PROJECT,
        children=(
            ExportedTable(
                "credential_delivery",
                "credential_deliveries",
                "id, credential_id, version, delivered_to, recipient_fingerprint, allocation_id, serial, delivered_at",
                "credential_id = ANY(%(ids)s)",
            ),
        ),
    ),
    ExportedTable(
        "publish_intent",
        "publish_intents",
        "id, project_id, kind, name, media_type, size_bytes, part_bytes, registry, repository, digest, state, failure,"
        " artifact_id, created_by, created_at, ended_at",
        _OF_PROJECT,
    ),
    ExportedTable(
        "artifact",
        "artifacts",
        "id, project_id, kind, name, registry, digest, size_bytes, media_type, stage, stage_since, trust, trust_detail,"
        " created_by, created_at, deleting_since",
        _OF_PROJECT,
        children=(
            ExportedTable(
                "artifact_evidence",
                "artifact_evidence",
                "id, artifact_id, kind, passed, tool, summary, submitted_by, created_at, source, operation_id",
                "artifact_id = ANY(%(ids)s)",
            ),
        ),
    ),
    ExportedTable(
        "app",
        "apps",
        "id, project_id, slug, display_name, description, category, keywords, visibility, created_by, created_at",
        _OF_PROJECT,
        children=(
            ExportedTable(
                "app_version",
                "app_versions",
                "id, app_id, version, runtime_version, artifact_kind, artifact_digest, manifest, status, canary_percent,"
                " notice, created_by, created_at, activated_at, deprecated_at, retired_at,"
                " trial_since",
                "app_id = ANY(%(ids)s)",
            ),
        ),
    ),
    ExportedTable(
        "app_channel",
        "app_channels",
        "app_id, project_id, channel, set_by, set_at",
        _OF_PROJECT,
        ("app_id", "project_id"),
    ),
    _ALLOCATIONS,
    _INSTANCES,
    ExportedTable(
        "operation",
        "app_operations",
        "id, project_id, instance_id, app_slug, kind, target, member_id, status, status_since, parameters, steps, failure,"
        " forced, reason, requested_by, requested_by_name, correlation_id, created_at, claimed_at, finished_at",
        _OF_PROJECT,
    ),
    ExportedTable(
        "teardown_receipt",
        "teardown_receipts",
        "id, project_id, operation_id, instance_id, app_slug, member_id, allocation_id, node_id, shape, depth, status,"
        " code, message, checks, forced, created_at, settled_at",
        _OF_PROJECT,
    ),
    ExportedTable(
        "usage_record",
        "app_usage_records",
        "id, project_id, instance_id, app_slug, source_key, metric, unit, quantity, started_at, ended_at, subject,"
        " reported_by, recorded_at",
        _OF_PROJECT,
        ("ended_at", "id"),
    ),
    ExportedTable(
        "usage_day",
        "app_usage_days",
        "project_id, instance_id, app_slug, metric, unit, day, quantity, records",
        _OF_PROJECT,
        ("instance_id", "metric", "unit", "day"),
    ),
    ExportedTable("event", "events", _EVENT_COLUMNS, _OF_PROJECT, ("transaction_id", "sequence")),
)
PROJECT_AUDIT = ExportedTable("audit_record", "audit_records", _AUDIT_COLUMNS, _OF_PROJECT)

TENANT_TABLES = (
    ExportedTable("tenant", "tenants", "id, slug, name, disabled, delete_after, created_at", "id = %(place)s"),
    PROJECT_TABLES[2],
    ExportedTable(
        "user",
        "users",
        "id, tenant_id, email, name, disabled, last_sign_in_at, created_at, deleted_at",
        _OF_TENANT,
        children=(
            ExportedTable(
                "ssh_key",
                "ssh_keys",
                "id, user_id, name, public_key, fingerprint, created_at",
                "user_id = ANY(%(ids)s)",
            ),
            ExportedTable(
                "tenant_member",
                "role_bindings",
                "id, user_id, role, created_at",
                "user_id = ANY(%(ids)s) AND project_id IS NULL",
            ),
        ),
    ),
    ExportedTable(
        "trust_key",
        "trust_keys",
        "id, name, public_key, fingerprint, algorithm, created_by, created_at, revoked_at, revoked_reason",
        _OF_TENANT,
    ),
    ExportedTable(
        "trust_policy",
        "trust_policies",
        "tenant_id, require_signature, require_smoke_launch, updated_by, updated_at",
        _OF_TENANT,
        ("tenant_id",),
    ),
    ExportedTable("entitlement", "entitlements", "id, app_id, granted_by, created_at", _OF_TENANT),
    ExportedTable(
        "controller_consent",
        "controller_consents",
        "id, app_id, app_slug, permissions, project_ids, given_by, given_at, last_claimed_at, withdrawn_by, withdrawn_at,"
        " withdrawn_reason, given_with, to_platform",
        _OF_TENANT,
    ),
)
TENANT_AUDIT = ExportedTable("audit_record", "audit_records", _AUDIT_COLUMNS, _OF_TENANT)
