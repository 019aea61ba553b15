"""terminals: who opened a shell where, how it ended, and how many bytes went through. Never the bytes."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

terminals = sa.Table(
    "terminals",
    metadata,
    id_column("trm"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    # No foreign keys: the record outlives what it is about.
    sa.Column("allocation_id", text_id(), nullable=False),
    sa.Column("node_id", text_id(), nullable=False),
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("opened_by", text_id(), nullable=False),
    sa.Column("opened_by_kind", sa.Text, nullable=False),
    sa.Column("opened_by_name", sa.Text, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("columns", sa.SmallInteger, nullable=False),
    sa.Column("rows", sa.SmallInteger, nullable=False),
    sa.Column("idle_seconds", sa.Integer, nullable=False),
    sa.Column("max_seconds", sa.Integer, nullable=False),
    # The host and the person must both be there by then.
    sa.Column("open_by", Timestamp, nullable=False),
    # Where the process listens that has the host's stream, and until when it is believed to live.
    sa.Column("holder", sa.Text),
    sa.Column("lease_until", Timestamp),
    sa.Column("opened_at", Timestamp),
    sa.Column("ends_at", Timestamp),
    sa.Column("ended_at", Timestamp),
    sa.Column("reason", sa.Text),
    sa.Column("message", sa.Text),
    sa.Column("exit_status", sa.SmallInteger),
    sa.Column("bytes_in", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("bytes_out", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("created_at", Timestamp, nullable=False),
    sa.CheckConstraint("status IN ('requested', 'open', 'ended')", name="terminals_status"),
    sa.CheckConstraint("(status = 'ended') = (ended_at IS NOT NULL AND reason IS NOT NULL)", name="terminals_ended"),
    sa.CheckConstraint("status <> 'open' OR (opened_at IS NOT NULL AND holder IS NOT NULL)", name="terminals_opened"),
    sa.Index("terminals_by_allocation", "allocation_id", "id"),
    sa.Index("terminals_live_by_user", "opened_by", postgresql_where=sa.text("status <> 'ended'")),
    sa.Index("terminals_by_end", "ended_at", postgresql_where=sa.text("ended_at IS NOT NULL")),
)
