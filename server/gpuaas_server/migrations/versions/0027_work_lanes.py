"""Each work row has a lane and a flow, by which workers share their slots between kinds of work and between tenants."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0023"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0027_work_lanes.sql")


def downgrade() -> None:
    _run("0027_work_lanes_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
