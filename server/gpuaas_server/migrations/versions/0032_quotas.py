"""Quotas of artifacts, their bytes, and GPUs whose clean-up is not proven; one live upload per publish intent."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0035"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0032_quotas.sql")


def downgrade() -> None:
    _run("0032_quotas_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
