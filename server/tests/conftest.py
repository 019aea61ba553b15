"""Real PostgreSQL for every test: one embedded server a run, and a database that is empty when a test begins."""

import os
import secrets
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import psycopg
import pytest
from pydantic import SecretStr

from gpuaas_server.embedded import postgres
from gpuaas_server.kernel import pipeline
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.migrations import run as migrations
from gpuaas_server.runtime import running_platform
from tests_support.emptied_database import EmptiedDatabase


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.EmbeddedPostgres]:
    directory = Path(tempfile.mkdtemp(prefix="gpuaas-test-"))
    os.chmod(directory, 0o755)  # noqa: S103 - the database's own account must be able to enter
    server = postgres.start(directory, {"fsync": "off", "max_connections": "200"})
    yield server
    server.stop()
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def template_database(postgres_server: postgres.EmbeddedPostgres) -> str:
    name = "template_gpuaas"
    migrations.upgrade(postgres.create_database(postgres_server, name))
    return name


@pytest.fixture
def fresh_database_url(postgres_server: postgres.EmbeddedPostgres, template_database: str) -> Iterator[str]:
    """For who changes more than rows."""
    name = f"t_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template_database} OWNER {postgres.ROLE}")
    yield postgres_server.url_of(postgres.ROLE, name)
    with psycopg.connect(postgres_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(scope="session")
def database_of_all(postgres_server: postgres.EmbeddedPostgres, template_database: str) -> Iterator[EmptiedDatabase]:
    with psycopg.connect(postgres_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE of_all TEMPLATE {template_database} OWNER {postgres.ROLE}")
    user = psycopg.conninfo.conninfo_to_dict(postgres_server.superuser_url)["user"]
    with psycopg.connect(postgres_server.url_of(str(user), "of_all"), autocommit=True) as keeper:
        yield EmptiedDatabase(postgres_server.url_of(postgres.ROLE, "of_all"), keeper)


@pytest.fixture
def database_url(database_of_all: EmptiedDatabase) -> Iterator[str]:
    """One database for all tests of a process, emptied after each: to copy one takes half a second."""
    yield database_of_all.url
    database_of_all.empty()


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, database_url=SecretStr(database_url), log_level="WARNING")


@pytest.fixture(params=[True, False], ids=["sent late", "psycopg's own"])
def either_pipeline(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Run a test with our pipeline and with psycopg's own: whether statements are sent late."""
    late: bool = request.param
    monkeypatch.setattr(pipeline, "SEND_LATE", late)
    return late


@pytest.fixture
async def platform(settings: Settings) -> AsyncIterator[Platform]:
    async with running_platform(settings) as running:
        yield running
