"""Host tasks carry the tenant that they concern, and stand behind the tenant wall."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0053"
down_revision = "0052"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0053_wall_of_tasks.sql")


def downgrade() -> None:
    _run("0053_wall_of_tasks_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
