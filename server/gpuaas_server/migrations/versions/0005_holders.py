"""Find what somebody can log in with, so that it ends when they leave."""

from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_index("ssh_certificates_by_holder", "ssh_certificates", ["issued_to", "valid_before"])
    op.create_index("ssh_grants_by_holder", "ssh_grants", ["granted_to", "expires_at"])


def downgrade() -> None:
    op.drop_index("ssh_grants_by_holder")
    op.drop_index("ssh_certificates_by_holder")
