"""Artifacts: what is published, whom it is trusted by, and how far it is promoted."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0011_artifacts.sql")


def downgrade() -> None:
    _run("0011_artifacts_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
