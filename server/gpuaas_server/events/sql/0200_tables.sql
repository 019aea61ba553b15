-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE events (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'evt\_%'),
  transaction_id BIGINT DEFAULT (pg_current_xact_id()::text::bigint) NOT NULL,
  sequence BIGINT GENERATED ALWAYS AS IDENTITY,
  time TIMESTAMP WITH TIME ZONE NOT NULL,
  type TEXT NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C",
  project_id TEXT COLLATE "C",
  correlation_id TEXT NOT NULL,
  data JSONB NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX events_by_place ON events (transaction_id, sequence);
CREATE INDEX events_by_project ON events (project_id, transaction_id, sequence);
CREATE INDEX events_by_subject ON events (subject, transaction_id, sequence);
CREATE INDEX events_by_time ON events (time);
SELECT raise_tenant_wall('events');
