"""What is busy and what has ended can be found; operations and deliveries that have served their time may go."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0015_ended_operations.sql")


def downgrade() -> None:
    _run("0015_ended_operations_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
