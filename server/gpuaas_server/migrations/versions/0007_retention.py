"""What has served its time can be found and removed, audit rows by one narrow way alone; a blocked release costs no quota."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0007_retention.sql")


def downgrade() -> None:
    _run("0007_retention_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
