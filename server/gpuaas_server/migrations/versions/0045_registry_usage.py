"""Bytes in the image registry, by project."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0045"
down_revision = "0041"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0045_registry_usage.sql").read_text()))


def downgrade() -> None:
    op.drop_table("registry_usage")
