"""Deletion of tenants and projects after a grace period."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0043"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0037_deletions.sql").read_text()))


def downgrade() -> None:
    op.execute(sa.text((SQL / "0037_deletions_down.sql").read_text()))
