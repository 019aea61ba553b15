"""An address belongs to one node."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0042"
down_revision = "0036"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute(sa.text((SQL / "0042_node_addresses.sql").read_text().replace(":", "\\:")))


def downgrade() -> None:
    op.drop_column("nodes", "slice_addresses")
    op.drop_table("node_addresses")
