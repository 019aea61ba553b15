"""The foundation: identity, projects, nodes, capacity, allocations, access, work, events, audit."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SQL = Path(__file__).parent.parent / "sql"
FILES = ("0001_tables.sql", "0001_walls.sql", "0001_capacity.sql")
WALLED = (
    "allocation_resource_claims",
    "allocation_transitions",
    "allocations",
    "audit_records",
    "events",
    "projects",
    "quotas",
    "role_bindings",
    "service_account_keys",
    "service_accounts",
    "ssh_certificates",
    "ssh_grants",
    "ssh_keys",
    "tenants",
    "users",
)
FUNCTIONS = (
    "offer_nodes(text, text, int, int, boolean)",
    "refit_nodes(text[])",
    "raise_tenant_wall(text)",
    "refuse_change()",
)


def upgrade() -> None:
    op.execute("CREATE EXTENSION IF NOT EXISTS btree_gist")
    for name in FILES:
        op.execute(sa.text((SQL / name).read_text().replace(":", "\\:")))
    for table in WALLED:
        op.execute(f"SELECT raise_tenant_wall('{table}')")
    op.execute(
        "CREATE TRIGGER audit_records_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_records"
        " FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )


def downgrade() -> None:
    names = sa.inspect(op.get_bind()).get_table_names()
    tables = ", ".join(f'"{name}"' for name in names if name != "alembic_version")
    op.execute(f"DROP TABLE {tables} CASCADE")
    for function in FUNCTIONS:
        op.execute(f"DROP FUNCTION {function}")
