"""Nothing is offered over a live claim, and a claim that comes too late is refused, not an error."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    _run("0006_live_claims.sql")


def downgrade() -> None:
    _run("0006_live_claims_down.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
