-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE outbox_consumers (
  name TEXT NOT NULL,
  transaction_id BIGINT NOT NULL,
  sequence BIGINT NOT NULL,
  PRIMARY KEY (name)
);

CREATE TABLE work_items (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'wrk\_%'),
  kind TEXT NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  run_at TIMESTAMP WITH TIME ZONE NOT NULL,
  wanted BIGINT DEFAULT '1' NOT NULL,
  attempts INTEGER DEFAULT '0' NOT NULL,
  lease_token BIGINT DEFAULT '0' NOT NULL,
  lease_until TIMESTAMP WITH TIME ZONE,
  leased_by TEXT,
  correlation_id TEXT NOT NULL,
  last_error TEXT,
  lane SMALLINT DEFAULT 1 NOT NULL,
  flow TEXT DEFAULT '' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT work_items_one_per_subject UNIQUE (kind, subject)
);
CREATE INDEX work_items_by_flow ON work_items (lane, flow, run_at);
-- Only statements in the order of time can use this index, whatever the statistics say: see work/leases.py.
CREATE INDEX work_items_in_order ON work_items ((lane + 0), run_at);
CREATE INDEX work_items_due ON work_items (lane, run_at);
