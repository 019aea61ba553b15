"""Service accounts have client certificates of the platform's own client CA, and may have to show one."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0042"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0038_client_certificates.sql").read_text()))


def downgrade() -> None:
    op.execute(sa.text((SQL / "0038_client_certificates_down.sql").read_text()))
