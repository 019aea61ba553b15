-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE deletions (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'del\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C",
  state TEXT DEFAULT 'scheduled' NOT NULL,
  requested_by TEXT COLLATE "C" NOT NULL,
  requested_at TIMESTAMP WITH TIME ZONE NOT NULL,
  removed JSONB DEFAULT '{}' NOT NULL,
  ended_at TIMESTAMP WITH TIME ZONE,
  progressed_at TIMESTAMP WITH TIME ZONE,
  waits_for TEXT,
  waits_count INTEGER,
  waits_detail TEXT,
  PRIMARY KEY (id),
  CONSTRAINT deletions_state CHECK (state IN ('scheduled', 'undone', 'purging', 'purged')),
  CONSTRAINT deletions_ended CHECK ((ended_at IS NULL) = (state IN ('scheduled', 'purging'))),
  CONSTRAINT deletions_waits_for CHECK (waits_for IN ('leftovers', 'artifacts', 'secrets')),
  CONSTRAINT deletions_waits
    CHECK ((waits_for IS NULL) = (waits_count IS NULL) AND (waits_for IS NULL) = (waits_detail IS NULL))
);
CREATE UNIQUE INDEX deletions_live ON deletions (tenant_id, project_id) NULLS NOT DISTINCT WHERE ended_at IS NULL;
SELECT raise_tenant_wall('deletions');
