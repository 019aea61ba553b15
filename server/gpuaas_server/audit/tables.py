"""audit_records: append-only."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

audit_records = sa.Table(
    "audit_records",
    metadata,
    id_column("aud"),
    sa.Column("at", Timestamp, nullable=False),
    sa.Column("tenant_id", text_id()),
    sa.Column("project_id", text_id()),
    sa.Column("actor_id", text_id(), nullable=False),
    sa.Column("actor_kind", sa.Text, nullable=False),
    sa.Column("actor_name", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("action", sa.Text, nullable=False),
    sa.Column("outcome", sa.Text, nullable=False),  # done, denied, failed
    sa.Column("resource_id", text_id()),
    sa.Column("reason", sa.Text),
    sa.Column("details", JSONB, nullable=False, server_default="{}"),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("user_agent", sa.Text, nullable=False, server_default=""),
    sa.Column("source", sa.Text, nullable=False, server_default=""),
    sa.Column("site", sa.Text, nullable=False, server_default=""),
    sa.Index("audit_records_by_tenant", "tenant_id", "id"),
    sa.Index("audit_records_by_project", "project_id", "id"),
    sa.Index("audit_records_by_resource", "resource_id", "id"),
    sa.Index("audit_records_by_correlation", "correlation_id"),
)
