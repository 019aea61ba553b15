"""Bring a database to the head revision, or down, from code (`gpuaas-server migrate`).

Alembic and SQLAlchemy are loaded only for a migration: otherwise they would be most of what `up` loads.
"""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from gpuaas_server.kernel.start import StartFailed

if TYPE_CHECKING:
    from alembic.config import Config

_REVISION = re.compile(r'^revision = "(\w+)"', re.MULTILINE)
_DOWN_REVISION = re.compile(r'^down_revision = "(\w+)"', re.MULTILINE)
_DEVELOPMENT = re.compile(r"0[01]\d\d")  # revisions from before the baseline
HERE = Path(__file__).parent


def _config(url: str) -> "Config":
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(HERE))
    config.attributes["url"] = url.replace("postgresql://", "postgresql+psycopg://", 1)
    return config


def upgrade(url: str, revision: str = "head") -> None:
    _refuse_unknown_revision(url)
    from alembic import command

    command.upgrade(_config(url), revision)


def downgrade(url: str, revision: str) -> None:
    _refuse_unknown_revision(url)
    from alembic import command

    command.downgrade(_config(url), revision)


def check(url: str) -> None:
    """Raise when the tables in the code and the migrated database disagree."""
    from alembic import command

    command.check(_config(url))


def head() -> str:
    """Return the revision that none is built on, by the files' text alone: start-up need not load Alembic to see that there is
    nothing to do. Numbers only name revisions; in which order they run is said by `down_revision`.
    """
    texts = [path.read_text() for path in (HERE / "versions").glob("[0-9]*.py")]
    built_on = {found for text in texts for found in _DOWN_REVISION.findall(text)}
    newest: str
    (newest,) = {found for text in texts for found in _REVISION.findall(text)} - built_on
    return str(newest)


def is_known(revision: str) -> bool:
    """Tell whether this version has the revision's file; one that it does not know is of a newer version."""
    return any(revision in _REVISION.findall(path.read_text()) for path in (HERE / "versions").glob("[0-9]*.py"))


def refuse_development_revision(found: str | None) -> None:
    """Raise StartFailed for a database of a version from before the first release: no revision leads here from its schema."""
    if found is not None and _DEVELOPMENT.fullmatch(found):
        raise StartFailed(
            f"the database was made by a development version (schema revision {found}) and cannot be upgraded; start with"
            " an empty data directory (GPUAAS_DATA_DIR) or an empty database (GPUAAS_DATABASE_URL),"
            " or run the version that made it"
        )


def _refuse_unknown_revision(url: str) -> None:
    found = current(url)
    refuse_development_revision(found)
    if found is not None and not is_known(found):
        raise StartFailed(
            f"the database's schema is at revision {found}, which this version does not know (its newest is {head()});"
            " run the newer version of gpuaas-server that migrated it"
        )


def current(url: str) -> str | None:
    with psycopg.connect(url) as connection:
        if connection.execute("SELECT to_regclass('alembic_version')").fetchone() == (None,):
            return None
        row = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        return None if row is None else str(row[0])
