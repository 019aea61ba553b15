"""sample_items: a named thing of a project."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

sample_items = sa.Table(
    "sample_items",
    metadata,
    id_column("smp"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("state", sa.Text, nullable=False),  # with states
    sa.Column("state_since", Timestamp, nullable=False),  # with states
    sa.Column("created_by", text_id(), nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint("state IN ('requested', 'active', 'ended')", name="sample_items_state"),  # with states
    sa.UniqueConstraint("project_id", "name", name="sample_items_one_per_name"),
    sa.Index("sample_items_by_project", "project_id", "id"),
)
