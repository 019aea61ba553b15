"""Revisions run the SQL files of the nouns: `<noun>/sql/<revision>_<what>.sql`."""

from pathlib import Path

import sqlalchemy as sa
from alembic import op

_NOUNS = Path(__file__).parent.parent


def run_sql(noun: str, *names: str) -> None:
    for name in names:
        text = (_NOUNS / noun / "sql" / f"{name}.sql").read_text()
        op.execute(sa.text(text.replace(":", "\\:")))  # the files have no parameters
