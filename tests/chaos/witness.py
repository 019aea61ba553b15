"""Triggers in the database that record each claim, quota and step in its own transaction.

They use PostgreSQL's clock, which is never stepped. A record is committed exactly when the change is.
"""

import time
from dataclasses import dataclass
from typing import Any

import psycopg
from psycopg.rows import dict_row

Row = dict[str, Any]
SCHEMA = """
CREATE SCHEMA chaos;
GRANT USAGE ON SCHEMA chaos TO PUBLIC;
CREATE TABLE chaos.claims (n bigserial, at timestamptz DEFAULT clock_timestamp(), live boolean, claim_id text,
  allocation_id text, node_id text, kind text, slot_id text);
CREATE TABLE chaos.quotas (n bigserial, at timestamptz DEFAULT clock_timestamp(), scope_id text, used int, allowed int);
CREATE TABLE chaos.unproven (n bigserial, at timestamptz DEFAULT clock_timestamp(), scope_id text, stored int, counted int);
CREATE TABLE chaos.steps (n bigserial, at timestamptz DEFAULT clock_timestamp(), allocation_id text, state text,
  phase text, application text, holder text);

CREATE FUNCTION chaos.note_claim() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO chaos.claims (live, claim_id, allocation_id, node_id, kind, slot_id)
    VALUES (true, NEW.id, NEW.allocation_id, NEW.node_id, NEW.kind, NEW.slot_id);
  ELSIF TG_OP = 'DELETE' OR (OLD.released_at IS NULL AND NEW.released_at IS NOT NULL) THEN
    INSERT INTO chaos.claims (live, claim_id, allocation_id, node_id, kind, slot_id)
    VALUES (false, OLD.id, OLD.allocation_id, OLD.node_id, OLD.kind, OLD.slot_id);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_note_claim AFTER INSERT OR UPDATE OR DELETE ON public.allocation_resource_claims
  FOR EACH ROW EXECUTE FUNCTION chaos.note_claim();

CREATE FUNCTION chaos.note_quota() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO chaos.quotas (scope_id, used, allowed) VALUES (NEW.scope_id, NEW.gpus_used, NEW.gpu_limit);
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_note_quota AFTER INSERT OR UPDATE ON public.quotas
  FOR EACH ROW EXECUTE FUNCTION chaos.note_quota();

-- At the end of each transaction that changes what is not proven clean: the counter, and what there is to be counted.
CREATE FUNCTION chaos.note_unproven() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO chaos.unproven (scope_id, stored, counted)
  SELECT q.scope_id, q.unproven_gpus, (SELECT coalesce(sum(a.gpu_count), 0) FROM public.allocations a
    WHERE a.unproven AND q.scope_id IN (a.project_id, a.tenant_id))
  FROM public.quotas q WHERE q.scope_id IN (NEW.project_id, NEW.tenant_id);
  RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER chaos_note_unproven AFTER UPDATE ON public.allocations DEFERRABLE INITIALLY DEFERRED
  FOR EACH ROW WHEN (OLD.unproven IS DISTINCT FROM NEW.unproven) EXECUTE FUNCTION chaos.note_unproven();

CREATE FUNCTION chaos.note_step() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
  INSERT INTO chaos.steps (allocation_id, state, phase, application, holder)
  SELECT NEW.id, NEW.state, NEW.phase, current_setting('application_name'),
    (SELECT leased_by FROM public.work_items WHERE kind = 'allocation' AND subject = NEW.id);
  RETURN NULL;
END $$;
CREATE TRIGGER chaos_note_step AFTER UPDATE ON public.allocations FOR EACH ROW EXECUTE FUNCTION chaos.note_step();
"""


@dataclass(frozen=True)
class Witness:
    """Reads as the database's superuser, without row-level security and without the server's code."""

    url: str

    def install(self) -> None:
        self.execute(SCHEMA)

    def execute(self, statements: str) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(statements)

    def rows(self, query: str, *values: object, seconds: float = 30.0) -> list[Row]:
        """Query, and retry while the database is unavailable after an attack."""
        deadline = time.monotonic() + seconds
        while True:
            try:
                with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as connection:
                    connection.execute("SET application_name = 'chaos-checker'")
                    return connection.execute(query, values).fetchall()
            except psycopg.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
