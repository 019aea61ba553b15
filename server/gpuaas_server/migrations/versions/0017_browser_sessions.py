"""Sessions of people in browsers, by a cookie."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0017_browser_sessions.sql").read_text().replace(":", "\\:")))
    op.execute("SELECT raise_tenant_wall('browser_sessions')")


def downgrade() -> None:
    op.execute("DROP TABLE browser_sessions")
