"""Allocations remember whether they count as not proven clean: the loss of a host is not its tenant's fault."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("allocations", sa.Column("unproven", sa.Boolean, nullable=False, server_default="false"))
    # Until now all that were blocked counted, so that these must be given back when they end.
    op.execute(sa.text("SELECT set_config('gpuaas.platform', 'on', true)"))
    op.execute(sa.text("UPDATE allocations SET unproven = true WHERE NOT counted AND ended_at IS NULL"))


def downgrade() -> None:
    op.execute(sa.text("SELECT set_config('gpuaas.platform', 'on', true)"))
    op.execute(
        sa.text(
            "WITH lost AS (SELECT s.id, sum(gpu_count) AS gpus FROM allocations a,"
            " LATERAL (VALUES (a.project_id), (a.tenant_id)) AS s(id)"
            " WHERE NOT counted AND NOT unproven AND ended_at IS NULL GROUP BY s.id)"
            " UPDATE quotas q SET unproven_gpus = q.unproven_gpus + lost.gpus FROM lost WHERE lost.id = q.scope_id"
        )
    )
    op.drop_column("allocations", "unproven")
