"""Operations on app instances and members."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import INT4RANGE, JSONB, ExcludeConstraint

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

app_operations = sa.Table(
    "app_operations",
    metadata,
    id_column("op"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("instance_id", text_id(), nullable=False),
    sa.Column("app_slug", text_id(), nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    # instance: the whole; member: one; bulk: nothing of its own, it stands for its children.
    sa.Column("target", sa.Text, nullable=False),
    sa.Column("member_id", text_id()),
    sa.Column("new_member_id", text_id()),  # in `replace`: the member that takes the place
    sa.Column("parent_id", text_id()),
    sa.Column("on_failure", sa.Text),
    # Not offered to controllers yet: one before it in a bulk that stops at the first failure has not succeeded.
    sa.Column("deferred", sa.Boolean, nullable=False, server_default="false"),
    # The part of the instance that it works on: one member's lane, or all of them.
    sa.Column("lane", INT4RANGE),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("status_since", Timestamp, nullable=False),
    sa.Column("phase", sa.Text),
    sa.Column("status_before", sa.Text),  # the instance's status, restored if no controller ever claims the operation
    sa.Column("parameters", JSONB, nullable=False, server_default="{}"),
    sa.Column("steps", JSONB, nullable=False, server_default="[]"),
    sa.Column("progress", JSONB),
    sa.Column("failure", JSONB),
    sa.Column("forced", JSONB),
    sa.Column("children", JSONB),  # of bulk: how many are in which status
    sa.Column("reason", sa.Text),
    sa.Column("requested_by", text_id(), nullable=False),
    sa.Column("requested_by_name", sa.Text, nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("attempt", sa.Integer, nullable=False, server_default="0"),
    sa.Column("controller_id", text_id()),
    sa.Column("replica", sa.Text),
    sa.Column("lease_digest", text_id()),
    sa.Column("lease_until", Timestamp),
    sa.Column("cancel_requested_at", Timestamp),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("claimed_at", Timestamp),
    sa.Column("finished_at", Timestamp),
    sa.Column("kept_at", Timestamp),  # ended long ago, and something still referred to it then
    sa.Column("deadline_at", Timestamp, nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False, server_default="1"),
    sa.CheckConstraint(
        "status IN ('pending', 'claimed', 'running', 'succeeded', 'failed', 'cancelled', 'expired')",
        name="app_operations_status",
    ),
    sa.CheckConstraint(
        "(target = 'instance' AND member_id IS NULL AND lower_inf(lane) AND upper_inf(lane))"
        " OR (target = 'member' AND member_id IS NOT NULL AND upper(lane) = lower(lane) + 1)"
        " OR (target = 'bulk' AND member_id IS NULL AND lane IS NULL)",
        name="app_operations_target",
    ),
    sa.CheckConstraint(
        "(finished_at IS NULL) = (status IN ('pending', 'claimed', 'running'))", name="app_operations_finished"
    ),
    ExcludeConstraint(
        ("instance_id", "="),
        ("lane", "&&"),
        using="gist",
        where=sa.text("finished_at IS NULL"),
        name="app_operations_no_overlap",
    ),
    sa.ForeignKeyConstraint(
        ["instance_id", "tenant_id"],
        ["app_instances.id", "app_instances.tenant_id"],
        name="app_operations_own_instance",
    ),
    sa.Index("app_operations_by_project", "project_id", "id"),
    sa.Index("app_operations_by_status", "project_id", "status", "id"),
    sa.Index("app_operations_anywhere", "status", "id"),
    sa.Index("app_operations_by_instance", "instance_id", "id"),
    sa.Index("app_operations_live", "instance_id", "id", postgresql_where=sa.text("finished_at IS NULL")),
    sa.Index(
        "app_operations_ended",
        sa.text("coalesce(kept_at, finished_at)"),
        postgresql_where=sa.text("finished_at IS NOT NULL"),
    ),
    sa.Index("app_operations_leased", "controller_id", postgresql_where=sa.text("lease_digest IS NOT NULL")),
    sa.Index("app_operations_by_parent", "parent_id", "id", postgresql_where=sa.text("parent_id IS NOT NULL")),
    sa.Index(
        "app_operations_offered",
        "app_slug",
        "tenant_id",
        "id",
        postgresql_where=sa.text("status = 'pending' AND NOT deferred AND target <> 'bulk'"),
    ),
    sa.Index(
        "app_operations_work",
        "project_id",
        "app_slug",
        "id",
        postgresql_where=sa.text("status = 'pending' AND NOT deferred AND target <> 'bulk'"),
    ),
)
