"""A slot's lane is its own, apart from the index that its host reports."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0003_lanes.sql")


def downgrade() -> None:
    _run("0003_lanes_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
