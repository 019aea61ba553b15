"""Claims in fewer round trips, planned once."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"
FUNCTIONS = (
    "take_quota(text[], text[], text, int)",
    "claim_slots(text, timestamptz, text[], jsonb)",
    "offer_nodes(text, text, int, int, boolean)",
    "refit_nodes(text[])",
)


def upgrade() -> None:
    _run("0002_claims.sql")


def downgrade() -> None:
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
    _run("0001_capacity.sql")


def _run(name: str) -> None:
    op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
