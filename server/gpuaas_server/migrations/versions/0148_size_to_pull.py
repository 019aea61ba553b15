"""Hosts learn the size of an image before they pull it."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0148"
down_revision = "0147"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("artifacts", "0148_size_to_pull")


def downgrade() -> None:
    run_sql("artifacts", "0148_size_to_pull_down")
