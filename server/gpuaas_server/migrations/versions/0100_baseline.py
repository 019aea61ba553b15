"""The first revision: what every noun has in the database, in the order of the layers.

Each noun's folder holds its own SQL: `sql/0100_tables.sql`, and `sql/0100_functions.sql` where it has functions or triggers.
"""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("kernel", "0100_functions")  # first: the others call them
    run_sql("kernel", "0100_tables")
    run_sql("work", "0100_tables")
    run_sql("audit", "0100_tables", "0100_functions")
    run_sql("events", "0100_tables")
    run_sql("secrets", "0100_tables")
    run_sql("pki", "0100_tables")
    run_sql("projects", "0100_tables")
    run_sql("identity", "0100_tables")
    run_sql("capacity", "0100_tables", "0100_functions")
    run_sql("nodes", "0100_tables")
    run_sql("host_tasks", "0100_tables")
    run_sql("allocations", "0100_tables")
    run_sql("operations", "0100_tables")
    run_sql("access", "0100_tables", "0100_functions")
    run_sql("artifacts", "0100_tables", "0100_functions")
    run_sql("catalog", "0100_tables")
    run_sql("receipts", "0100_tables", "0100_functions")
    run_sql("instances", "0100_tables", "0100_functions")
    run_sql("terminals", "0100_tables", "0100_functions")
    run_sql("app_usage", "0100_tables")
    run_sql("deletions", "0100_tables")


def downgrade() -> None:
    run_sql("kernel", "0100_down")
