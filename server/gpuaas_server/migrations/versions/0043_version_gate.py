"""Indexes by which a revocation finds the instances that could return to a version; pulls are of the publisher's artifact."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0043"
down_revision = "0038"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0043_version_gate.sql")


def downgrade() -> None:
    _run("0043_version_gate_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
