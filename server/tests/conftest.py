"""Real PostgreSQL for every test: one embedded server a run, one fresh database (cloned from a migrated template) a test."""

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
from gpuaas_server.kernel.context import Platform
from gpuaas_server.kernel.settings import Settings
from gpuaas_server.migrations import run as migrations
from gpuaas_server.runtime import running_platform


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
def database_url(postgres_server: postgres.EmbeddedPostgres, template_database: str) -> Iterator[str]:
    name = f"t_{secrets.token_hex(6)}"
    with psycopg.connect(postgres_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template_database} OWNER {postgres.ROLE}")
    yield postgres_server.url_of(postgres.ROLE, name)
    with psycopg.connect(postgres_server.superuser_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def settings(database_url: str, tmp_path: Path) -> Settings:
    return Settings(data_dir=tmp_path, database_url=SecretStr(database_url), log_level="WARNING")


@pytest.fixture
async def platform(settings: Settings) -> AsyncIterator[Platform]:
    async with running_platform(settings) as running:
        yield running
