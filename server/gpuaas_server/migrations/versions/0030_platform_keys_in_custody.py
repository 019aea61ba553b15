"""The platform's own private keys come under the secret store's key; the worker moves those that are there already."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0027"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0030_platform_keys_in_custody.sql")


def downgrade() -> None:
    _run("0030_platform_keys_in_custody_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
