"""Images in registries that are not the platform's own, with a credential in the secret store."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0147"
down_revision = "0146"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("artifacts", "0147_external_registries")


def downgrade() -> None:
    run_sql("artifacts", "0147_external_registries_down")
