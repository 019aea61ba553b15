-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE audit_records (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'aud\_%'),
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  tenant_id TEXT COLLATE "C",
  project_id TEXT COLLATE "C",
  actor_id TEXT COLLATE "C" NOT NULL,
  actor_kind TEXT NOT NULL,
  actor_name TEXT NOT NULL,
  address TEXT NOT NULL,
  action TEXT NOT NULL,
  outcome TEXT NOT NULL,
  resource_id TEXT COLLATE "C",
  reason TEXT,
  details JSONB DEFAULT '{}' NOT NULL,
  correlation_id TEXT NOT NULL,
  user_agent TEXT DEFAULT '' NOT NULL,
  source TEXT DEFAULT '' NOT NULL,
  site TEXT DEFAULT '' NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX audit_records_by_correlation ON audit_records (correlation_id);
CREATE INDEX audit_records_by_project ON audit_records (project_id, id);
CREATE INDEX audit_records_by_resource ON audit_records (resource_id, id);
CREATE INDEX audit_records_by_tenant ON audit_records (tenant_id, id);
SELECT raise_tenant_wall('audit_records');
