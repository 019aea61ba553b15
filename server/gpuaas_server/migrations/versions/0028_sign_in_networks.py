"""Failures of signing in count per account and network, and each account knows the networks it signed in from."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0030"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0028_sign_in_networks.sql")


def downgrade() -> None:
    _run("0028_sign_in_networks_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
