"""A collection asks when the last instance of some bytes ended."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0202"
down_revision = "0201"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("instances", "0202_last_instance_end")


def downgrade() -> None:
    run_sql("instances", "0202_last_instance_end_down")
