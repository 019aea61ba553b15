"""Large blobs are sent in parts."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0150"
down_revision = "0149"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("artifacts", "0150_parts")


def downgrade() -> None:
    run_sql("artifacts", "0150_parts_down")
