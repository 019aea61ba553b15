"""Whole nodes are offered only where the wipe that is required can be proven."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0055"
down_revision = "0053"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0055_provable_wipe_grades.sql")


def downgrade() -> None:
    _run("0055_provable_wipe_grades_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
