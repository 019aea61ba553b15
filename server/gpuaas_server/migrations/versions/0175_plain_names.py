"""Columns and functions get the words of the contract and the code: message, quota_reserved, reserve_…_quota."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0175"
down_revision = "0152"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("capacity", "0175_reserve_quota")
    run_sql("artifacts", "0175_quota_reserved")
    run_sql("terminals", "0175_message")


def downgrade() -> None:
    run_sql("terminals", "0175_message_down")
    run_sql("artifacts", "0175_quota_reserved_down")
    run_sql("capacity", "0175_reserve_quota_down")
