"""App instances, their members, and what happened to them."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB, ExcludeConstraint

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

app_instances = sa.Table(
    "app_instances",
    metadata,
    id_column("ins"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("app_id", text_id(), nullable=False),
    sa.Column("app_slug", text_id(), nullable=False),
    sa.Column("version_id", text_id(), nullable=False),
    sa.Column("version", sa.Text, nullable=False),
    sa.Column("runtime_version", sa.Text),
    sa.Column("digest", text_id()),
    sa.Column("publisher_project_id", text_id()),  # whose artifact the digest is: others may have the same bytes
    # The version's manifest as it was launched: what a controller works by, whatever becomes of the catalog.
    sa.Column("manifest", JSONB, nullable=False),
    # The version before the last upgrade, whole; and one that was tried and did not succeed.
    sa.Column("previous", JSONB),
    sa.Column("attempted", JSONB),
    sa.Column("inputs", JSONB, nullable=False),
    # What is wanted; the members are what there is.
    sa.Column("placement_intent", JSONB, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("status_since", Timestamp, nullable=False),
    sa.Column("failure", JSONB),
    # Derived (machine.derive_health) whenever what it is derived from changes; kept for lists and for the event of its change.
    sa.Column("health", sa.Text, nullable=False),
    sa.Column("health_since", Timestamp, nullable=False),
    sa.Column("health_reasons", JSONB, nullable=False),
    sa.Column("reported", JSONB),  # what the controller last said about health
    sa.Column("reported_at", Timestamp),
    sa.Column("flags", JSONB, nullable=False, server_default="[]"),
    sa.Column("member_counts", JSONB, nullable=False, server_default="{}"),
    sa.Column("bound_capacity_shape", sa.Text),  # of the living members' allocations, derived as the counts are
    sa.Column("next_ordinal", sa.Integer, nullable=False, server_default="0"),
    sa.Column("runtime", JSONB),
    sa.Column("access_bundle", JSONB),
    # Somebody who has left knows the secrets that the members share; no rotation has been asked for since.
    sa.Column("secrets_stale", sa.Boolean, nullable=False, server_default="false"),
    # Names of secrets whose change members are to get with that rotation, and of given ones that somebody who left knows.
    sa.Column("secrets_due", JSONB, nullable=False, server_default="[]"),
    sa.Column("secrets_exposed", JSONB, nullable=False, server_default="[]"),
    # What the platform does about drift (drift.py), and what it has noticed and tried.
    sa.Column("reconcile_policy", sa.Text, nullable=False, server_default="notify"),
    sa.Column("drift", JSONB),
    sa.Column("mode", JSONB),  # the form that it has, as its app names it, and what the app does not take in that form
    sa.Column("operation_id", text_id()),  # the live one on the whole instance
    sa.Column("last_operation_id", text_id()),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("deployed_at", Timestamp),
    sa.Column("decommissioned_at", Timestamp),
    # Grows with what is wanted and with what is there, not with health: a report made against an older one is stale.
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.UniqueConstraint("id", "tenant_id", name="app_instances_with_tenant"),
    sa.CheckConstraint(
        "status IN ('created', 'starting', 'running', 'stopping', 'stopped', 'failed')", name="app_instances_status"
    ),
    sa.CheckConstraint(
        "health IN ('unknown', 'progressing', 'healthy', 'degraded', 'unhealthy')", name="app_instances_health"
    ),
    sa.CheckConstraint("reconcile_policy IN ('off', 'notify', 'auto')", name="app_instances_reconcile_policy"),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="app_instances_own_project"
    ),
    sa.Index("app_instances_by_project", "project_id", "id"),
    sa.Index("app_instances_by_status", "project_id", "status", "id"),
    sa.Index("app_instances_by_health", "project_id", "health", "id"),
    sa.Index("app_instances_by_app", "project_id", "app_slug", "id"),
    sa.Index("app_instances_by_digest", "digest", postgresql_where=sa.text("decommissioned_at IS NULL")),
    sa.Index("app_instances_served", "app_slug", "id", postgresql_where=sa.text("decommissioned_at IS NULL")),
    sa.Index("app_instances_by_version", "version_id", postgresql_where=sa.text("decommissioned_at IS NULL")),
    # Those that ended: when an artifact was last run.
    *(
        sa.Index(
            f"app_instances_ended_by_{name}",
            column,
            "decommissioned_at",
            postgresql_where=sa.text("decommissioned_at IS NOT NULL"),
        )
        for name, column in (("digest", "digest"), ("version", "version_id"))
    ),
    sa.Index("app_instances_by_tenant", "tenant_id", "id", postgresql_where=sa.text("decommissioned_at IS NULL")),
    # Versions that an instance could return to, or was to change to: a revocation looks at them too.
    *(
        sa.Index(
            f"app_instances_by_{column}_{key}",
            sa.text(f"({column} ->> '{key}')"),
            postgresql_where=sa.text(f"decommissioned_at IS NULL AND {column} IS NOT NULL"),
        )
        for column in ("previous", "attempted")
        for key in ("digest", "version_id")
    ),
    sa.Index(
        "app_instances_one_per_name",
        "project_id",
        "name",
        unique=True,
        postgresql_where=sa.text("decommissioned_at IS NULL"),
    ),
)

app_members = sa.Table(
    "app_members",
    metadata,
    id_column("mem"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("instance_id", text_id(), nullable=False),
    sa.Column("ordinal", sa.Integer, nullable=False),  # its place in the instance, and its lane among the operations
    sa.Column("component_key", sa.Text, nullable=False),
    sa.Column("allocation_id", text_id(), nullable=False),
    sa.Column("place_project_id", text_id()),  # whose allocation it is, where that is not the instance's own project's
    sa.Column("node_id", text_id(), nullable=False),
    sa.Column("shape", sa.Text),  # of its allocation, which never changes
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("status_since", Timestamp, nullable=False),
    sa.Column("failure", JSONB),
    sa.Column("adapter_detail", JSONB),
    sa.Column("operation_id", text_id()),  # the live one that works on it
    sa.Column("last_operation_id", text_id()),
    sa.Column("correlation_id", sa.Text, nullable=False),
    # Its allocation has ended: there is no host to inspect any more, the wipe was its proof.
    sa.Column("host_gone", sa.Boolean, nullable=False, server_default="false"),
    # Its allocation is to be released, and waits for it.
    sa.Column("leaving", sa.Boolean, nullable=False, server_default="false"),
    sa.Column("verified", sa.Boolean),  # whether its last teardown was proven; false for ever after a forced one
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("ready_at", Timestamp),
    sa.Column("removed_at", Timestamp),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("watch", JSONB),  # the probes that its host runs
    sa.Column("probe_report", JSONB),  # what its host says of them
    sa.CheckConstraint(
        "status IN ('pending', 'joining', 'ready', 'degraded', 'draining', 'drained', 'removing', 'removed', 'failed')",
        name="app_members_status",
    ),
    sa.CheckConstraint("(status = 'removed') = (removed_at IS NOT NULL)", name="app_members_tombstone"),
    ExcludeConstraint(
        ("allocation_id", "="),
        ("instance_id", "<>"),
        using="gist",
        where=sa.text("removed_at IS NULL"),
        name="app_members_one_instance",
    ),
    sa.ForeignKeyConstraint(
        ["instance_id", "tenant_id"], ["app_instances.id", "app_instances.tenant_id"], name="app_members_own_instance"
    ),
    sa.ForeignKeyConstraint(
        ["instance_id", "place_project_id"],
        ["instance_projects.instance_id", "instance_projects.project_id"],
        name="app_members_place_served",
    ),
    sa.Index("app_members_by_instance", "instance_id", "ordinal", unique=True),
    sa.Index("app_members_live", "instance_id", "ordinal", postgresql_where=sa.text("removed_at IS NULL")),
    sa.Index("app_members_by_allocation", "allocation_id", postgresql_where=sa.text("removed_at IS NULL")),
    sa.Index("app_members_busy", "instance_id", postgresql_where=sa.text("operation_id IS NOT NULL")),
    sa.Index(
        "app_members_elsewhere",
        "instance_id",
        "place_project_id",
        postgresql_where=sa.text("removed_at IS NULL AND place_project_id IS NOT NULL"),
    ),
)

# The projects that an instance serves: its own, and further ones of the same tenant. One that it no longer serves keeps its
# row, with the end: what was used for it stays attributed to it.
instance_projects = sa.Table(
    "instance_projects",
    metadata,
    sa.Column("instance_id", text_id(), primary_key=True),
    sa.Column("project_id", text_id(), primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("slug", sa.Text, nullable=False),  # of the project, which keeps it for ever
    sa.Column("home", sa.Boolean, nullable=False),
    sa.Column("since", Timestamp, nullable=False),
    sa.Column("until", Timestamp),
    sa.Column("added_by", text_id(), nullable=False),
    sa.CheckConstraint("NOT home OR until IS NULL", name="instance_projects_home_stays"),
    sa.ForeignKeyConstraint(
        ["instance_id", "tenant_id"],
        ["app_instances.id", "app_instances.tenant_id"],
        name="instance_projects_of_instance",
    ),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="instance_projects_same_tenant"
    ),
    sa.Index(
        "instance_projects_served",
        "project_id",
        "instance_id",
        postgresql_where=sa.text("NOT home AND until IS NULL"),
    ),
    sa.Index("instance_projects_by_project", "project_id", "instance_id"),
)

# The secrets of an instance: which version holds. The values are in the secret store.
instance_secrets = sa.Table(
    "instance_secrets",
    metadata,
    sa.Column("instance_id", text_id(), primary_key=True),
    sa.Column("name", text_id(), primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("secret_id", text_id(), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("set_at", Timestamp, nullable=False),
    sa.Column("set_by", text_id(), nullable=False),
    sa.Column("operation_id", text_id()),  # the one that it was made for; null: a person gave it
    sa.Column("read_at", Timestamp),
    sa.CheckConstraint("version >= 1", name="instance_secrets_version"),
    sa.ForeignKeyConstraint(
        ["instance_id", "tenant_id"],
        ["app_instances.id", "app_instances.tenant_id"],
        name="instance_secrets_of_instance",
    ),
    sa.ForeignKeyConstraint(
        ["project_id", "tenant_id"], ["projects.id", "projects.tenant_id"], name="instance_secrets_same_tenant"
    ),
    sa.Index("instance_secrets_by_secret", "secret_id"),
)

# The timeline. The same things are in the event log of the project, which forgets sooner.
app_instance_events = sa.Table(
    "app_instance_events",
    metadata,
    id_column("iev"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("instance_id", text_id(), nullable=False),
    sa.Column("at", Timestamp, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("subject", text_id(), nullable=False),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("data", JSONB, nullable=False),
    # Its place. Whoever writes here holds the instance, so places are drawn in the order of the commits.
    sa.Column("sequence", sa.BigInteger, sa.Identity(always=True), nullable=False),
    sa.Index("app_instance_events_by_instance", "instance_id", "sequence"),
)
