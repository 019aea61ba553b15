"""What the platform itself knows of a node, and how well a wipe has to be proven."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

revision = "0041"
down_revision = "0037"
branch_labels = None
depends_on = None

NODE_FACTS = ("configuration", "agent_sha256", "erase_drives", "facts_frozen", "differing_claim")


def upgrade() -> None:
    op.add_column("nodes", sa.Column("configuration", sa.Text))
    op.add_column("nodes", sa.Column("agent_sha256", sa.Text))
    op.add_column("nodes", sa.Column("erase_drives", sa.Boolean, nullable=False, server_default="true"))
    op.add_column("nodes", sa.Column("facts_frozen", sa.Boolean, nullable=False, server_default="false"))
    op.add_column("nodes", sa.Column("differing_claim", sa.Text))
    # SKUs that exist keep the grade that they were offered with; an administrator raises it when the agents can do it.
    op.add_column("skus", sa.Column("wipe_grade", sa.Text, nullable=False, server_default="inspected"))
    op.add_column("skus", sa.Column("accept_not_examined", ARRAY(sa.Text), nullable=False, server_default="{}"))
    op.create_check_constraint("skus_wipe_grade", "skus", "wipe_grade IN ('inspected', 'rebooted')")
    # What was not looked at on slots with drives was accepted until now.
    op.execute(sa.text("UPDATE skus SET accept_not_examined = '{drives}'"))
    op.add_column("tenants", sa.Column("wipe_grade", sa.Text, nullable=False, server_default="inspected"))
    op.create_check_constraint("tenants_wipe_grade", "tenants", "wipe_grade IN ('inspected', 'rebooted')")
    op.add_column("allocations", sa.Column("wipe_requirements", JSONB))


def downgrade() -> None:
    op.drop_column("allocations", "wipe_requirements")
    op.drop_column("tenants", "wipe_grade")
    op.drop_column("skus", "accept_not_examined")
    op.drop_column("skus", "wipe_grade")
    for name in NODE_FACTS:
        op.drop_column("nodes", name)
