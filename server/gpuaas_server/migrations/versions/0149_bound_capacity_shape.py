"""Instances show the shape of the allocations that their members are on."""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0149"
down_revision = "0148"
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("instances", "0149_bound_capacity_shape")


def downgrade() -> None:
    run_sql("instances", "0149_bound_capacity_shape_down")
