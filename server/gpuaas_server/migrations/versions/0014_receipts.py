"""Teardown receipts."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0014_receipts.sql")


def downgrade() -> None:
    _run("0014_receipts_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
