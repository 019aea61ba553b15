"""teardown_receipts: what was seen on a host after an app said that it is gone. Settled rows stay as they are."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

teardown_receipts = sa.Table(
    "teardown_receipts",
    metadata,
    id_column("rcp"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),  # of the allocation
    sa.Column("instance_project_id", text_id()),  # of the instance, where that is another one
    # No foreign keys: a receipt outlives what it is about.
    sa.Column("operation_id", text_id(), nullable=False),
    sa.Column("instance_id", text_id(), nullable=False),
    sa.Column("app_slug", sa.Text, nullable=False),
    sa.Column("member_id", text_id(), nullable=False),
    sa.Column("allocation_id", text_id(), nullable=False),
    sa.Column("node_id", text_id(), nullable=False),
    sa.Column("shape", sa.Text, nullable=False),
    sa.Column("depth", sa.Text, nullable=False),
    sa.Column("footprint", JSONB, nullable=False),
    sa.Column("footprint_sha256", sa.Text, nullable=False),
    sa.Column("baseline_sha256", sa.Text),
    sa.Column("revoked_serials", JSONB, nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    # The generation of the host task in flight; 0: the host was never asked.
    sa.Column("attempt", sa.SmallInteger, nullable=False),
    sa.Column("deadline_at", Timestamp, nullable=False),
    sa.Column("code", sa.Text),
    sa.Column("message", sa.Text),
    sa.Column("checks", JSONB, nullable=False, server_default="[]"),
    sa.Column("forced", JSONB),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("settled_at", Timestamp),
    sa.CheckConstraint(
        "status IN ('pending', 'clean', 'left', 'unseen', 'not_verified')", name="teardown_receipts_status"
    ),
    sa.CheckConstraint("depth IN ('stopped', 'gone')", name="teardown_receipts_depth"),
    sa.CheckConstraint("(status = 'not_verified') = (forced IS NOT NULL)", name="teardown_receipts_forced"),
    sa.UniqueConstraint("operation_id", "member_id", name="teardown_receipts_one_per_member"),
    sa.Index("teardown_receipts_by_project", "project_id", "id"),
    sa.Index("teardown_receipts_anywhere", "status", "id"),
    sa.Index("teardown_receipts_by_app", "project_id", "app_slug", "id"),
    sa.Index("teardown_receipts_by_instance", "instance_id", "id"),
    sa.Index("teardown_receipts_by_allocation", "allocation_id", "id"),
    sa.Index(
        "teardown_receipts_elsewhere",
        "instance_project_id",
        "id",
        postgresql_where=sa.text("instance_project_id IS NOT NULL"),
    ),
)
