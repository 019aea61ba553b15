"""A claim costs less: settings of functions only where they are called from outside, and no savepoint of its own."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0008_lighter_claims.sql")


def downgrade() -> None:
    _run("0008_lighter_claims_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
