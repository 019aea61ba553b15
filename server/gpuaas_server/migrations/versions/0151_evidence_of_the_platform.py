"""Evidence says who found it out, a tenant may require smoke launches, and drafts can be on trial."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0151"
down_revision = "0150"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("artifacts", "0151_evidence_of_the_platform")
    run_sql("catalog", "0151_trials")


def downgrade() -> None:
    run_sql("catalog", "0151_trials_down")
    run_sql("artifacts", "0151_evidence_of_the_platform_down")
