"""Add sample items."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0000"
down_revision = "newest"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("sample_items", "0000_tables")


def downgrade() -> None:
    run_sql("sample_items", "0000_tables_down")
