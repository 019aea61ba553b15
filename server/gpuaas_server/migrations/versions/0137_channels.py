"""Versions can be canaries, apps point to the version that launches take, and projects choose a channel."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0137"
down_revision = "0136"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("catalog", "0137_channels")


def downgrade() -> None:
    run_sql("catalog", "0137_channels_down")
