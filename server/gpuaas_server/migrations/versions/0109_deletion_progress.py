"""A deletion says when it last got on, and what it waits for."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0109"
down_revision = "0112"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("deletions", "0109_progress")


def downgrade() -> None:
    run_sql("deletions", "0109_progress_down")
