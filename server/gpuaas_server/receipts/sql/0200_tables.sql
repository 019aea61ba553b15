-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE teardown_receipts (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'rcp\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  operation_id TEXT COLLATE "C" NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  member_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  shape TEXT NOT NULL,
  depth TEXT NOT NULL,
  footprint JSONB NOT NULL,
  footprint_sha256 TEXT NOT NULL,
  baseline_sha256 TEXT,
  revoked_serials JSONB NOT NULL,
  status TEXT NOT NULL,
  attempt SMALLINT NOT NULL,
  deadline_at TIMESTAMP WITH TIME ZONE NOT NULL,
  code TEXT,
  message TEXT,
  checks JSONB DEFAULT '[]' NOT NULL,
  forced JSONB,
  correlation_id TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  settled_at TIMESTAMP WITH TIME ZONE,
  app_slug TEXT NOT NULL,
  instance_project_id TEXT COLLATE "C",
  PRIMARY KEY (id),
  CONSTRAINT teardown_receipts_status CHECK (status IN ('pending', 'clean', 'left', 'unseen', 'not_verified')),
  CONSTRAINT teardown_receipts_depth CHECK (depth IN ('stopped', 'gone')),
  CONSTRAINT teardown_receipts_forced CHECK ((status = 'not_verified') = (forced IS NOT NULL)),
  CONSTRAINT teardown_receipts_one_per_member UNIQUE (operation_id, member_id)
);
CREATE INDEX teardown_receipts_anywhere ON teardown_receipts (status, id);
CREATE INDEX teardown_receipts_by_allocation ON teardown_receipts (allocation_id, id);
CREATE INDEX teardown_receipts_by_app ON teardown_receipts (project_id, app_slug, id);
CREATE INDEX teardown_receipts_by_instance ON teardown_receipts (instance_id, id);
CREATE INDEX teardown_receipts_by_project ON teardown_receipts (project_id, id);
CREATE INDEX teardown_receipts_elsewhere ON teardown_receipts (instance_project_id, id)
  WHERE instance_project_id IS NOT NULL;
SELECT raise_tenant_wall('teardown_receipts');
