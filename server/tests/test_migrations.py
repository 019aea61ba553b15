"""Migrations go up and down, agree with the tables in the code, and leave no tenant table without its wall."""

import importlib
import re
import secrets
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
import sqlalchemy as sa

from gpuaas_server.embedded import postgres
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.kernel.start import StartFailed
from gpuaas_server.migrations import run as migrations
from gpuaas_server.migrations.schema import metadata, tenant_tables
from gpuaas_server.runtime import running_platform
from tests_support.schemas import add_revision, copy_migrations, irreversible_revisions, schema_of

BASELINE = "0200"
NOUNS = migrations.HERE.parent
SQL_FILES = sorted(NOUNS.glob("*/sql/*.sql"))


@pytest.fixture
def database_url(fresh_database_url: str) -> str:
    return fresh_database_url


@pytest.fixture
def empty_database_url(postgres_server: postgres.EmbeddedPostgres) -> Iterator[str]:
    name = f"e_{secrets.token_hex(6)}"
    yield postgres.create_database(postgres_server, name)
    with psycopg.connect(postgres_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def later_migrations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the migrations, for tests to build further revisions on."""
    copy = copy_migrations(tmp_path)
    monkeypatch.setattr(migrations, "HERE", copy)
    return copy


def test_the_head_is_found_without_loading_alembic(database_url: str) -> None:
    assert migrations.current(database_url) == migrations.head()


def test_tables_in_the_code_and_in_the_database_agree(database_url: str) -> None:
    migrations.check(database_url)


def test_checks_in_the_code_and_in_the_database_agree(database_url: str) -> None:
    """By name and table: Alembic does not compare them."""
    described = {
        (table.name, str(constraint.name or f"{table.name}_{column}_check"))
        for table in metadata.tables.values()
        for column, constraints in [("", table.constraints), *((c.name, c.constraints) for c in table.columns)]
        for constraint in constraints
        if isinstance(constraint, sa.CheckConstraint)
    }
    with psycopg.connect(database_url) as connection:
        found = connection.execute(
            "SELECT conrelid::regclass::text, conname FROM pg_constraint"
            " WHERE contype = 'c' AND connamespace = 'public'::regnamespace"
        )
        assert {(table, name) for table, name in found} == described


def test_an_empty_database_goes_up_to_the_head_down_to_nothing_and_up_again(empty_database_url: str) -> None:
    migrations.upgrade(empty_database_url)
    migrations.check(empty_database_url)
    first = schema_of(empty_database_url)
    migrations.downgrade(empty_database_url, "base")
    left = re.findall(r"^CREATE (?:TABLE|FUNCTION|SEQUENCE|TYPE) [^ (]+", schema_of(empty_database_url), re.MULTILINE)
    assert left == ["CREATE TABLE public.alembic_version"]
    migrations.upgrade(empty_database_url)
    assert schema_of(empty_database_url) == first


def test_a_database_at_the_baseline_goes_up_to_the_head_and_each_step_down_again(empty_database_url: str) -> None:
    migrations.upgrade(empty_database_url, BASELINE)
    assert irreversible_revisions(empty_database_url, BASELINE) == []
    migrations.check(empty_database_url)


def test_a_later_revision_is_built_on_the_baseline(database_url: str, later_migrations: Path) -> None:
    head = migrations.head()
    add_revision(
        later_migrations, "9001", head, "ALTER TABLE skus ADD colour text", "ALTER TABLE skus DROP COLUMN colour"
    )
    assert migrations.head() == "9001"
    assert irreversible_revisions(database_url, head) == []
    assert migrations.current(database_url) == "9001"
    assert "colour text" in schema_of(database_url)


def test_a_step_down_that_leaves_something_behind_is_found(database_url: str, later_migrations: Path) -> None:
    head = migrations.head()
    add_revision(later_migrations, "9001", head, "CREATE TABLE IF NOT EXISTS colours (name text)", "SELECT 1")
    assert irreversible_revisions(database_url, head) == ["9001"]


async def test_a_database_behind_the_head_is_refused_with_the_command_that_mends_it(
    settings: Settings, database_url: str, later_migrations: Path
) -> None:
    head = migrations.head()
    add_revision(later_migrations, "9001", head, "SELECT 1", "SELECT 1")
    with pytest.raises(StartFailed, match=f"at revision {head}, this version needs 9001; run `gpuaas-server migrate`"):
        async with running_platform(settings):
            raise AssertionError("it started")


def test_a_database_of_a_newer_version_is_not_migrated(database_url: str, later_migrations: Path) -> None:
    add_revision(later_migrations, "9001", migrations.head(), "SELECT 1", "SELECT 1")
    migrations.upgrade(database_url)
    (later_migrations / "versions" / "9001_later.py").unlink()
    for go in (migrations.upgrade, lambda url: migrations.downgrade(url, BASELINE)):
        with pytest.raises(StartFailed, match="at revision 9001, which this version does not know"):
            go(database_url)


@pytest.mark.parametrize("path", SQL_FILES, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_every_sql_file_is_run_by_the_revision_that_it_is_named_after(path: Path) -> None:
    number, noun = path.name.partition("_")[0], path.parent.parent.name
    [revision] = (migrations.HERE / "versions").glob(f"{number}_*.py")
    calls = re.findall(r"run_sql\(([^)]*)\)", revision.read_text())
    assert any(re.findall(r'"(\w+)"', call)[0] == noun and f'"{path.stem}"' in call for call in calls)


def test_a_noun_creates_the_tables_that_it_describes() -> None:
    created: dict[str, set[str]] = {}
    for path in SQL_FILES:
        names = re.findall(r"^CREATE TABLE (\w+)", path.read_text(), re.MULTILINE)
        created.setdefault(path.parent.parent.name, set()).update(names)
    described = {noun: {table.name for table in _tables_of(noun)} for noun in created}
    assert created == described
    assert set().union(*created.values()) == set(metadata.tables)


def _tables_of(noun: str) -> list[sa.Table]:
    module = importlib.import_module(f"gpuaas_server.{noun}.tables")
    return [value for value in vars(module).values() if isinstance(value, sa.Table)]


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
