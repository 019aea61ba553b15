"""Work that is due is found in the order of its time, whatever the statistics say."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0152"
down_revision = "0151"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("work", "0152_due_in_order")


def downgrade() -> None:
    run_sql("work", "0152_due_in_order_down")
