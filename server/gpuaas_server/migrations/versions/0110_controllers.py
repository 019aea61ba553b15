"""Controllers serve tenants: bindings, consents and replicas."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0110"
down_revision = "0109"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("controllers", "0110_tables")


def downgrade() -> None:
    run_sql("controllers", "0110_tables_down")
