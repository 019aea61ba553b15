"""Nodes that do not erase drives are not offered where erased drives are required."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0145"
down_revision = "0110"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("capacity", "0145_erased_drives")


def downgrade() -> None:
    run_sql("capacity", "0145_erased_drives_down")
