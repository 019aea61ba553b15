"""Bring a database to the head revision, or down, from code (`gpuaas-server migrate`).

Alembic and SQLAlchemy are loaded by those who migrate: they are most of what `up` would have to load otherwise.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

if TYPE_CHECKING:
    from alembic.config import Config

_REVISION = re.compile(r'^revision = "(\w+)"', re.MULTILINE)
_DOWN_REVISION = re.compile(r'^down_revision = "(\w+)"', re.MULTILINE)
HERE = Path(__file__).parent


def _config(url: str) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(HERE))
    config.attributes["url"] = url.replace("postgresql://", "postgresql+psycopg://", 1)
    return config


def upgrade(url: str, revision: str = "head") -> None:
    from alembic import command

    command.upgrade(_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    from alembic import command

    command.downgrade(_config(url), revision)


def check(url: str) -> None:
    """Raise when the tables in the code and the migrated database disagree."""
    from alembic import command

    command.check(_config(url))


def head() -> str:
    """The revision that none is built on, from the files' text alone: start-up need not load Alembic to see that there is
    nothing to do. Numbers only name revisions; in which order they run is said by `down_revision`.
    """
    texts = [path.read_text() for path in (HERE / "versions").glob("[0-9]*.py")]
    built_on = {found for text in texts for found in _DOWN_REVISION.findall(text)}
    newest: str
    (newest,) = {found for text in texts for found in _REVISION.findall(text)} - built_on
    return str(newest)


def is_known(revision: str) -> bool:
    """Whether this version has the revision's file; one that it does not know is of a newer version."""
    return any(revision in _REVISION.findall(path.read_text()) for path in (HERE / "versions").glob("[0-9]*.py"))


def current(url: str) -> str | None:
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return None if row is None else str(row[0])
