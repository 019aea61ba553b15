"""work_items: one row per (kind, subject) that needs attention; outbox_consumers: how far each consumer of events is."""

import sqlalchemy as sa

from gpuaas_server.kernel.tables import Timestamp, id_column, metadata, text_id

work_items = sa.Table(
    "work_items",
    metadata,
    id_column("wrk"),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("subject", text_id(), nullable=False),
    sa.Column("run_at", Timestamp, nullable=False),
    # How often work was requested: a request that arrives while the row is leased is not lost.
    sa.Column("wanted", sa.BigInteger, nullable=False, server_default="1"),
    sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
    # The fencing token: grows with each lease; whoever holds an older one can change nothing.
    sa.Column("lease_token", sa.BigInteger, nullable=False, server_default="0"),
    sa.Column("lease_until", Timestamp),
    sa.Column("leased_by", sa.Text),
    sa.Column("correlation_id", sa.Text, nullable=False),
    sa.Column("last_error", sa.Text),
    # See work/lanes.py: 0 safety, 1 interactive, 2 bulk. A row that does not say is interactive.
    sa.Column("lane", sa.SmallInteger, nullable=False, server_default="1"),
    # Whose share of the slots it uses: a tenant's, or, empty, the platform's.
    sa.Column("flow", sa.Text, nullable=False, server_default=""),
    sa.UniqueConstraint("kind", "subject", name="work_items_one_per_subject"),
    # `lane + 0`, so that only statements that want the order of time can use it (see work/leases.py).
    sa.Index("work_items_in_order", sa.text("(lane + 0)"), "run_at"),
    sa.Index("work_items_due", "lane", "run_at"),  # of the previous version; remove it after the next release
    sa.Index("work_items_by_flow", "lane", "flow", "run_at"),
)

outbox_consumers = sa.Table(
    "outbox_consumers",
    metadata,
    sa.Column("name", sa.Text, primary_key=True),
    sa.Column("transaction_id", sa.BigInteger, nullable=False),
    sa.Column("sequence", sa.BigInteger, nullable=False),
)
