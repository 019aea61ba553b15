"""Instances by their health: what is not well is found among thousands that are."""

from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("app_instances_by_health", "app_instances", ["project_id", "health", "id"])


def downgrade() -> None:
    op.drop_index("app_instances_by_health")
