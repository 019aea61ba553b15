"""Instances have secrets, which the platform keeps sealed."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0136"
down_revision = "0135"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("instances", "0136_secrets")


def downgrade() -> None:
    run_sql("instances", "0136_secrets_down")
