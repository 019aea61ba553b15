"""Migrations go up and down, agree with the tables in the code, and leave no tenant table without its wall."""

import psycopg
import pytest

from gpuaas_server.embedded import postgres
from gpuaas_server.migrations import run as migrations
from gpuaas_server.migrations.schema import tenant_tables


@pytest.fixture
def database_url(fresh_database_url: str) -> str:
    return fresh_database_url


def test_the_head_is_found_without_loading_alembic(database_url: str) -> None:
    assert migrations.current(database_url) == migrations.head()


def test_tables_in_the_code_and_in_the_database_agree(database_url: str) -> None:
    migrations.check(database_url)


def test_migrations_go_down_to_nothing_and_up_again(database_url: str) -> None:
    migrations.downgrade(database_url, "base")
    with psycopg.connect(database_url) as connection:
        left = connection.execute(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
            " AND table_name <> 'alembic_version'"
        ).fetchall()
    assert left == []
    migrations.upgrade(database_url)
    migrations.check(database_url)


def test_every_table_with_a_tenant_has_a_forced_wall(database_url: str) -> None:
    with psycopg.connect(database_url) as connection:
        walled = {
            row[0]
            for row in connection.execute(
                "SELECT c.relname FROM pg_class c JOIN pg_policy p ON p.polrelid = c.oid"
                " WHERE c.relrowsecurity AND c.relforcerowsecurity AND p.polname = 'tenant_wall'"
            )
        }
    assert walled == set(tenant_tables())


def test_a_connection_without_a_scope_sees_no_tenant_row(
    database_url: str, postgres_server: postgres.EmbeddedPostgres
) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("SELECT set_config('gpuaas.platform', 'on', false)")
        connection.execute("INSERT INTO quotas (scope_id, tenant_id) VALUES ('tnt_a', 'tnt_a'), ('tnt_b', 'tnt_b')")
    with psycopg.connect(database_url, autocommit=True) as connection:
        assert connection.execute("SELECT count(*) FROM quotas").fetchone() == (0,)
        connection.execute("SELECT set_config('gpuaas.tenant', 'tnt_a', false)")
        assert connection.execute("SELECT scope_id FROM quotas").fetchall() == [("tnt_a",)]
        assert connection.execute("UPDATE quotas SET gpu_limit = 1").rowcount == 1


def test_audit_rows_cannot_be_changed_or_removed(database_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as connection:
        for statement in (
            "UPDATE audit_records SET action = 'x'",
            "DELETE FROM audit_records",
            "TRUNCATE audit_records",
        ):
            try:
                connection.execute(statement)
            except psycopg.errors.InsufficientPrivilege:
                continue
            raise AssertionError(f"{statement} was allowed")
