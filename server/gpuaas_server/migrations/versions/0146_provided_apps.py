"""The platform's own apps say how far they are."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0146"
down_revision = "0145"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("catalog", "0146_provided_apps")


def downgrade() -> None:
    run_sql("catalog", "0146_provided_apps_down")
