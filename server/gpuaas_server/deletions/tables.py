"""deletions: one row for each time that somebody asked for the deletion of a tenant or project. It outlives the place."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

deletions = sa.Table(
    "deletions",
    metadata,
    id_column("del"),
    # No foreign keys: the row says what became of a place that is gone.
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id()),  # NULL: the whole tenant
    sa.Column("state", sa.Text, nullable=False, server_default="scheduled"),
    sa.Column("requested_by", text_id(), nullable=False),
    sa.Column("requested_at", Timestamp, nullable=False),
    sa.Column("removed", JSONB, nullable=False, server_default="{}"),  # how many rows of which table went
    sa.Column("ended_at", Timestamp),
    sa.CheckConstraint("state IN ('scheduled', 'undone', 'purging', 'purged')", name="deletions_state"),
    sa.CheckConstraint("(ended_at IS NULL) = (state IN ('scheduled', 'purging'))", name="deletions_ended"),
    sa.Index(
        "deletions_live",
        "tenant_id",
        "project_id",
        unique=True,
        postgresql_where=sa.text("ended_at IS NULL"),
        postgresql_nulls_not_distinct=True,
    ),
)
