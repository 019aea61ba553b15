"""Reports of tenants that a host is broken."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0032"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0029_host_reports.sql").read_text()))


def downgrade() -> None:
    op.drop_table("host_reports")
