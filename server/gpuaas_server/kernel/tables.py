"""The one MetaData of all tables, and the column types that they share."""

import sqlalchemy as sa

metadata = sa.MetaData()

Timestamp = sa.DateTime(timezone=True)


def text_id() -> sa.Text:
    """Return the type of ids, which compare byte by byte, whatever the cluster's locale."""
    return sa.Text(collation="C")


def id_column(prefix: str) -> sa.Column[str]:
    """Return the primary key: a typed id whose prefix the database checks too."""
    return sa.Column("id", text_id(), sa.CheckConstraint(f"id LIKE '{prefix}\\_%'"), primary_key=True)


idempotency_keys = sa.Table(
    "idempotency_keys",
    metadata,
    sa.Column("owner_id", text_id(), primary_key=True),
    sa.Column("key", sa.Text(collation="C"), primary_key=True),
    sa.Column("fingerprint", sa.LargeBinary, nullable=False),
    sa.Column("status", sa.SmallInteger, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("etag", sa.Text),
    sa.Column("expires_at", Timestamp, nullable=False),
    sa.Index("idempotency_keys_expiry", "expires_at"),
)
