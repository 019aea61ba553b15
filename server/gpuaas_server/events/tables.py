"""events: (transaction_id, sequence) is the position in the log; see queries.py for why not the sequence alone."""

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONB

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

events = sa.Table(
    "events",
    metadata,
    id_column("evt"),
    sa.Column(
        "transaction_id",
        sa.BigInteger,
        nullable=False,
        server_default=sa.text("(pg_current_xact_id()::text::bigint)"),
    ),
    sa.Column("sequence", sa.BigInteger, sa.Identity(always=True), nullable=False),
    sa.Column("time", Timestamp, nullable=False),
    sa.Column("type", sa.Text, nullable=False),
    sa.Column("subject", text_id(), nullable=False),
    sa.Column("tenant_id", text_id()),
    sa.Column("project_id", text_id()),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("data", JSONB, nullable=False),
    sa.Index("events_by_place", "transaction_id", "sequence"),
    sa.Index("events_by_project", "project_id", "transaction_id", "sequence"),
    sa.Index("events_by_subject", "subject", "transaction_id", "sequence"),
    sa.Index("events_by_time", "time"),
)
