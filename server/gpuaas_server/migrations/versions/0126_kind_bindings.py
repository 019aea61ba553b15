"""A controller serves every app of a kind, and a consent may come with an entitlement."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0126"
down_revision = "0125"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("controllers", "0126_kind_bindings")


def downgrade() -> None:
    run_sql("controllers", "0126_kind_bindings_down")
