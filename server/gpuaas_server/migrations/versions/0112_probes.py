"""Members have probes that their hosts run."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0112"
down_revision = "0100"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("instances", "0112_probes")


def downgrade() -> None:
    run_sql("instances", "0112_probes_down")
