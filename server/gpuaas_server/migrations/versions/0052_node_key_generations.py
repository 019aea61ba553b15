"""Only the live key of a node counts, and only from where the node speaks."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0052"
down_revision = "0045"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0052_node_key_generations.sql")


def downgrade() -> None:
    _run("0052_node_key_generations_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
