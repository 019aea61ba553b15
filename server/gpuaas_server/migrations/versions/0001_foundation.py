"""Foundation."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

from gpuaas_server.migrations.schema import metadata, tenant_tables

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None
SQL = Path(__file__).parent.parent / "sql"


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
    metadata.create_all(op.get_bind())
    for name in ("walls.sql", "capacity.sql"):
        op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
    for table in tenant_tables():
        op.execute(f"SELECT raise_tenant_wall('{table}')")
    op.execute(
        "CREATE TRIGGER audit_records_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_records"
        " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )


def downgrade() -> None:
    op.execute("DROP SCHEMA public CASCADE")
    op.execute("CREATE SCHEMA public")
