"""Instances by the versions that they could return to, and by tenant: a revocation looks at these too."""

from alembic import op

revision = "0043"
down_revision = "0036"
branch_labels = None
depends_on = None

LIVE = "decommissioned_at IS NULL"
KEPT = [(column, key) for column in ("previous", "attempted") for key in ("digest", "version_id")]


def upgrade() -> None:
    op.execute(f"CREATE INDEX app_instances_by_tenant ON app_instances (tenant_id, id) WHERE {LIVE}")
    for column, key in KEPT:
        op.execute(
            f"CREATE INDEX app_instances_by_{column}_{key} ON app_instances (({column} ->> '{key}'))"
            f" WHERE {LIVE} AND {column} IS NOT NULL"
        )


def downgrade() -> None:
    op.execute("DROP INDEX app_instances_by_tenant")
    for column, key in KEPT:
        op.execute(f"DROP INDEX app_instances_by_{column}_{key}")
