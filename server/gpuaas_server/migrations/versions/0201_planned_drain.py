"""A drain may be planned: its projects have notice, and the node's row says when it begins."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0201"
down_revision = "0200"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("nodes", "0201_planned_drain")


def downgrade() -> None:
    run_sql("nodes", "0201_planned_drain_down")
