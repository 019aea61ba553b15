"""Agents confirm which CAs they trust, and their keys have a generation and an end."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0028"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("nodes", sa.Column("key_generation", sa.Integer, nullable=False, server_default="1"))
    op.add_column("nodes", sa.Column("key_expires_at", sa.DateTime(timezone=True)))
    op.add_column("nodes", sa.Column("previous_public_key", sa.LargeBinary))
    op.add_column("nodes", sa.Column("previous_key_until", sa.DateTime(timezone=True)))
    op.add_column("nodes", sa.Column("tls_anchors", sa.ARRAY(sa.Text)))
    op.create_index("nodes_by_key_expiry", "nodes", ["key_expires_at"], postgresql_where=sa.text("retired_at IS NULL"))


def downgrade() -> None:
    op.drop_index("nodes_by_key_expiry")
    for name in ("tls_anchors", "previous_key_until", "previous_public_key", "key_expires_at", "key_generation"):
        op.drop_column("nodes", name)
