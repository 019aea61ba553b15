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
    sa.Column("progressed_at", Timestamp),  # when it last removed something, or what it waits for became less or more
    sa.Column("waits_for", sa.Text),  # what keeps it from its next step; NULL: nothing that it knows of
    sa.Column("waits_count", sa.Integer),
    sa.Column("waits_detail", sa.Text),
    sa.CheckConstraint("state IN ('scheduled', 'undone', 'purging', 'purged')", name="deletions_state"),
    sa.CheckConstraint("(ended_at IS NULL) = (state IN ('scheduled', 'purging'))", name="deletions_ended"),
    sa.CheckConstraint("waits_for IN ('leftovers', 'artifacts', 'secrets')", name="deletions_waits_for"),
    sa.CheckConstraint(
        "(waits_for IS NULL) = (waits_count IS NULL) AND (waits_for IS NULL) = (waits_detail IS NULL)",
        name="deletions_waits",
    ),
    sa.Index(
        "deletions_live",
        "tenant_id",
        "project_id",
        unique=True,
        postgresql_where=sa.text("ended_at IS NULL"),
        postgresql_nulls_not_distinct=True,
    ),
)
