"""The first revision: what every noun has in the database, in the order of the layers.

Each noun's folder holds its own SQL: `sql/0200_tables.sql`, and `sql/0200_functions.sql` where it has functions or triggers.
"""

from gpuaas_server.migrations.sql_files import run_sql

revision = "0200"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    run_sql("kernel", "0200_functions")  # first: the others call them
    run_sql("kernel", "0200_tables")
    run_sql("work", "0200_tables")
    run_sql("audit", "0200_tables", "0200_functions")
    run_sql("events", "0200_tables")
    run_sql("secrets", "0200_tables")
    run_sql("pki", "0200_tables")
    run_sql("identity", "0200_tables")
    run_sql("projects", "0200_tables")
    run_sql("capacity", "0200_tables", "0200_functions")
    run_sql("host_tasks", "0200_tables")
    run_sql("nodes", "0200_tables")
    run_sql("allocations", "0200_tables")
    run_sql("operations", "0200_tables")
    run_sql("access", "0200_tables", "0200_functions")
    run_sql("artifacts", "0200_tables", "0200_functions")
    run_sql("catalog", "0200_tables")
    run_sql("controllers", "0200_tables", "0200_functions")
    run_sql("receipts", "0200_tables", "0200_functions")
    run_sql("instances", "0200_tables", "0200_functions")
    run_sql("terminals", "0200_tables", "0200_functions")
    run_sql("app_usage", "0200_tables")
    run_sql("deletions", "0200_tables")


def downgrade() -> None:
    run_sql("kernel", "0200_down")
