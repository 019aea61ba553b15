"""Operations and receipts of all projects by their status: what operators look for when something is stuck."""

from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("app_operations_anywhere", "app_operations", ["status", "id"])
    op.create_index("teardown_receipts_anywhere", "teardown_receipts", ["status", "id"])


def downgrade() -> None:
    op.drop_index("teardown_receipts_anywhere")
    op.drop_index("app_operations_anywhere")
