"""Instances that serve several projects, and what apps count for each of them."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0019_served_projects.sql")


def downgrade() -> None:
    _run("0019_served_projects_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
