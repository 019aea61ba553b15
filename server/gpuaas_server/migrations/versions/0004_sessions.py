"""Sessions of people, with a refresh token that changes with every use."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0004_sessions.sql").read_text().replace(":", "\\:")))
    op.execute("SELECT raise_tenant_wall('sessions')")


def downgrade() -> None:
    op.execute("DROP TABLE sessions")
