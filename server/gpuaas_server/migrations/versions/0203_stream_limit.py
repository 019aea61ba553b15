"""A quota may limit the streams of a tenant or a project."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0203"
down_revision = "0202"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("capacity", "0203_stream_limit")


def downgrade() -> None:
    run_sql("capacity", "0203_stream_limit_down")
