"""A home for every instance, seen to by the database; days of usage and slots out of use are found by an index."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0023_found_by_index.sql")


def downgrade() -> None:
    _run("0023_found_by_index_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
