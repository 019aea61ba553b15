"""allocations, their state changes, and what tenants report of their hosts."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

allocations = sa.Table(
    "allocations",
    metadata,
    id_column("alc"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("batch_id", text_id()),
    sa.Column("name", sa.Text),
    sa.Column("sku_id", text_id(), nullable=False),
    sa.Column("sku_name", sa.Text, nullable=False),
    sa.Column("shape", sa.Text, nullable=False),
    sa.Column("gpu_model", sa.Text, nullable=False),
    sa.Column("gpu_count", sa.SmallInteger, nullable=False),
    sa.Column("node_id", text_id(), nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("state_since", Timestamp, nullable=False),
    sa.Column("deadline_at", Timestamp),
    sa.Column("failure", JSONB),
    # The host task in flight, by its generation; 0: nothing was ever sent to the host.
    sa.Column("host_generation", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("phase", sa.Text),
    sa.Column("attempt", sa.SmallInteger, nullable=False, server_default="0"),
    # Access (grants, revocations) as wanted and as last sent to the host.
    sa.Column("access_wanted", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("access_sent", sa.BigInteger, nullable=False, server_default="0"),
    # The release was asked for and waits for what runs on it, until then at the latest.
    sa.Column("release_by", Timestamp),
    sa.Column("release_reason", sa.Text),
    sa.Column("ssh_address", sa.Text),
    sa.Column("ssh_port", sa.Integer),
    sa.Column("ssh_user", sa.Text),
    # The host's baseline when the allocation became active; the wipe must be verified against the same one.
    sa.Column("baseline_sha256", sa.Text),
    # What the proof has to show, written down when the release begins (grade, accept_not_examined, boot_id)
    # and when a wipe is sent (former_boot_ids, wipe_id).
    sa.Column("wipe_requirements", JSONB),
    # Which key the node had when it was last told to end the tenant's processes: a bare-metal host proves its wipe with a
    # newer one, since until then the tenant could copy it.
    sa.Column("release_key_generation", sa.Integer),
    sa.Column("wipe_evidence", JSONB),
    sa.Column("forced", JSONB),
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("active_at", Timestamp),
    sa.Column("ended_at", Timestamp),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    # Whether it still counts against the quotas: until it ends, or until its release is blocked.
    sa.Column("counted", sa.Boolean, nullable=False, server_default="true"),
    # Whether it counts among the GPUs that are not proven clean: from a wipe that failed until the end. A lost host is none.
    sa.Column("unproven", sa.Boolean, nullable=False, server_default="false"),
    # When its transitions and host tasks were removed; the row itself, with the wipe's evidence, stays.
    sa.Column("history_removed_at", Timestamp),
    # Since when only what a bill and the proof of the wipe need is left, because its project was deleted.
    sa.Column("purged_at", Timestamp),
    sa.CheckConstraint(
        "state IN ('requested', 'provisioning', 'active', 'releasing', 'released', 'failed', 'release_failed')",
        name="allocations_state",
    ),
    sa.Index("allocations_by_project", "project_id", "id"),
    sa.Index(
        "allocations_with_old_history",
        "ended_at",
        postgresql_where=sa.text("ended_at IS NOT NULL AND history_removed_at IS NULL"),
    ),
    sa.Index("allocations_by_node", "node_id", postgresql_where=sa.text("ended_at IS NULL")),
)

allocation_transitions = sa.Table(
    "allocation_transitions",
    metadata,
    sa.Column("allocation_id", text_id(), primary_key=True),
    sa.Column("generation", sa.BigInteger, primary_key=True),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("at", Timestamp, nullable=False),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("phase", sa.Text),
    sa.Column("failure", JSONB),
    sa.Column("actor", sa.Text, nullable=False),
    sa.Column("reason", sa.Text),
)

host_reports = sa.Table(
    "host_reports",
    metadata,
    id_column("hrp"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("allocation_id", text_id(), nullable=False),
    sa.Column("node_id", text_id(), nullable=False),
    sa.Column("reason", sa.Text, nullable=False),
    sa.Column("reported_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    # An operator has looked at the host: its GPUs may return to the pool.
    sa.Column("cleared_at", Timestamp),
    sa.Column("cleared_by", text_id()),
    sa.Column("cleared_reason", sa.Text),
    sa.CheckConstraint(
        "(cleared_at IS NULL) = (cleared_by IS NULL) AND (cleared_at IS NULL) = (cleared_reason IS NULL)",
        name="host_reports_cleared",
    ),
    sa.Index(
        "host_reports_open_by_allocation",
        "allocation_id",
        unique=True,
        postgresql_where=sa.text("cleared_at IS NULL"),
    ),
    sa.Index("host_reports_open_by_tenant", "tenant_id", postgresql_where=sa.text("cleared_at IS NULL")),
    sa.Index("host_reports_by_node", "node_id", "id"),
)
