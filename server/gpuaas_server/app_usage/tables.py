"""Describes the tables of what apps count: records that are only ever added, and their sums by day."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

# Kept for ever, like receipts: what has been paid for rests on them. No foreign keys: they outlive what they are about.
app_usage_records = sa.Table(
    "app_usage_records",
    metadata,
    id_column("aur"),
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), nullable=False),
    sa.Column("instance_id", text_id(), nullable=False),
    sa.Column("app_slug", text_id(), nullable=False),
    sa.Column("source_key", text_id(), nullable=False),  # the reporter's own: a repetition is the same record
    sa.Column("metric", text_id(), nullable=False),
    sa.Column("unit", text_id(), nullable=False),
    sa.Column("quantity", sa.BigInteger, nullable=False),
    sa.Column("started_at", Timestamp, nullable=False),
    sa.Column("ended_at", Timestamp, nullable=False),
    sa.Column("subject", sa.Text),
    sa.Column("reported_by", text_id(), nullable=False),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("recorded_at", Timestamp, nullable=False),
    sa.UniqueConstraint("instance_id", "source_key", name="app_usage_records_once"),
    sa.CheckConstraint("quantity >= 0", name="app_usage_records_quantity"),
    sa.CheckConstraint("started_at <= ended_at", name="app_usage_records_span"),
    sa.Index("app_usage_records_by_project", "project_id", "ended_at", "id"),
    sa.Index("app_usage_records_by_instance", "project_id", "instance_id", "ended_at", "id"),
)

# Written in the transaction that adds the records, from those that it has added: totals cost days, not records.
app_usage_days = sa.Table(
    "app_usage_days",
    metadata,
    sa.Column("tenant_id", text_id(), nullable=False),
    sa.Column("project_id", text_id(), primary_key=True),
    sa.Column("instance_id", text_id(), primary_key=True),
    sa.Column("app_slug", text_id(), nullable=False),
    sa.Column("metric", text_id(), primary_key=True),
    sa.Column("unit", text_id(), primary_key=True),
    sa.Column("day", sa.Date, primary_key=True),
    sa.Column("quantity", sa.Numeric(38, 0), nullable=False),
    sa.Column("records", sa.BigInteger, nullable=False),
    sa.Index("app_usage_days_by_day", "project_id", "day"),
)
