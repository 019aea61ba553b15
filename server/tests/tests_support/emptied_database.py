"""A migrated database that is emptied between tests instead of made anew."""

from dataclasses import dataclass
from typing import Any

import psycopg

_END_OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
)
# Triggers and foreign keys are for those who work with the rows; `replica` passes them by.
_EMPTY = """
DO $$
DECLARE one text;
BEGIN
  SET LOCAL session_replication_role = replica;
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version' LOOP
    EXECUTE format('DELETE FROM %I', one);
  END LOOP;
  PERFORM setval(format('%I.%I', schemaname, sequencename)::regclass, start_value, false) FROM pg_sequences;
END $$
"""


@dataclass(slots=True)
class EmptiedDatabase:
    url: str
    keeper: psycopg.Connection[Any]

    def empty(self) -> None:
        self.keeper.execute(_END_OTHERS)  # a test that failed may have left a transaction open
        self.keeper.execute(_EMPTY)
