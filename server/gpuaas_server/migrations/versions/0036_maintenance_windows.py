"""Planned maintenance of nodes."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0034"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0036_maintenance_windows.sql").read_text()))


def downgrade() -> None:
    op.drop_table("maintenance_windows")
