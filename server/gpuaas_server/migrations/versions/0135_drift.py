"""Instances have a policy for drift, and keep what was noticed and tried."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0135"
down_revision = "0126"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("instances", "0135_drift")


def downgrade() -> None:
    run_sql("instances", "0135_drift_down")
