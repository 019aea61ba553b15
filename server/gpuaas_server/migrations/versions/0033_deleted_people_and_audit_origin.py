"""Audit rows say how a request came; keys of service accounts can be disabled; users can be deleted."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0029"
branch_labels = None
depends_on = None

ORIGIN = ("user_agent", "source", "site")


def upgrade() -> None:
    for name in ORIGIN:
        op.add_column("audit_records", sa.Column(name, sa.Text, nullable=False, server_default=""))
    op.add_column("service_account_keys", sa.Column("disabled", sa.Boolean, nullable=False, server_default="false"))
    op.add_column("users", sa.Column("deleted_at", sa.TIMESTAMP(timezone=True)))


def downgrade() -> None:
    op.drop_column("users", "deleted_at")
    op.drop_column("service_account_keys", "disabled")
    for name in ORIGIN:
        op.drop_column("audit_records", name)
