"""Host tasks. They are rows of a tenant when they concern its allocation."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

TASK_STATUSES = ("pending", "succeeded", "failed", "refused", "expired", "superseded")


node_tasks = sa.Table(
    "node_tasks",
    metadata,
    id_column("tsk"),
    sa.Column("node_id", text_id(), sa.ForeignKey("nodes.id"), nullable=False),
    # Whose allocation it concerns; null for a task about the node itself. No foreign key: an order outlives its tenant.
    sa.Column("tenant_id", text_id()),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("resource_id", text_id(), nullable=False),
    sa.Column("generation", sa.BigInteger, nullable=False),
    sa.Column("spec", JSONB, nullable=False),
    sa.Column("deadline", Timestamp, nullable=False),
    sa.Column("status", sa.Text, nullable=False, server_default="pending"),
    sa.Column("phases", JSONB, nullable=False, server_default="[]"),
    sa.Column("result", JSONB),
    sa.Column("evidence", JSONB),
    sa.Column("failure", JSONB),
    # What the agent said, as a digest: the same report again is the same report.
    sa.Column("report_sha256", sa.LargeBinary),
    sa.Column("reported_key_generation", sa.Integer),  # of the key that signed the report
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("traceparent", sa.Text, nullable=False),
    sa.Column("notify_kind", sa.Text, nullable=False),
    sa.Column("notify_subject", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.Column("reported_at", Timestamp),
    sa.CheckConstraint(f"status IN {TASK_STATUSES}", name="node_tasks_status"),
    sa.CheckConstraint("tenant_id IS NOT NULL OR resource_id = node_id", name="node_tasks_tenant"),
    sa.UniqueConstraint("resource_id", "generation", name="node_tasks_one_per_generation"),
    sa.Index("node_tasks_pending", "node_id", postgresql_where=sa.text("status = 'pending'")),
    sa.Index("node_tasks_overdue", "deadline", postgresql_where=sa.text("status = 'pending'")),
    sa.Index("node_tasks_by_node", "node_id", "id"),
    sa.Index("node_tasks_finished", "reported_at", postgresql_where=sa.text("status <> 'pending'")),
)
