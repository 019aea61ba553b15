"""One project is the platform's own."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0125"
down_revision = "0110"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("projects", "0125_platform_project")


def downgrade() -> None:
    run_sql("projects", "0125_platform_project_down")
