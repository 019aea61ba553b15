-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE allocation_transitions (
  allocation_id TEXT COLLATE "C" NOT NULL,
  generation BIGINT NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  state TEXT NOT NULL,
  phase TEXT,
  failure JSONB,
  actor TEXT NOT NULL,
  reason TEXT,
  PRIMARY KEY (allocation_id, generation)
);
SELECT raise_tenant_wall('allocation_transitions');

CREATE TABLE allocations (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'alc\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  batch_id TEXT COLLATE "C",
  name TEXT,
  sku_id TEXT COLLATE "C" NOT NULL,
  sku_name TEXT NOT NULL,
  shape TEXT NOT NULL,
  gpu_model TEXT NOT NULL,
  gpu_count SMALLINT NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  state TEXT NOT NULL,
  state_since TIMESTAMP WITH TIME ZONE NOT NULL,
  deadline_at TIMESTAMP WITH TIME ZONE,
  failure JSONB,
  host_generation BIGINT DEFAULT '0' NOT NULL,
  phase TEXT,
  attempt SMALLINT DEFAULT '0' NOT NULL,
  access_wanted BIGINT DEFAULT '0' NOT NULL,
  access_sent BIGINT DEFAULT '0' NOT NULL,
  ssh_address TEXT,
  ssh_port INTEGER,
  ssh_user TEXT,
  baseline_sha256 TEXT,
  wipe_evidence JSONB,
  forced JSONB,
  created_by TEXT COLLATE "C" NOT NULL,
  correlation_id TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  active_at TIMESTAMP WITH TIME ZONE,
  ended_at TIMESTAMP WITH TIME ZONE,
  generation BIGINT DEFAULT '1' NOT NULL,
  history_removed_at TIMESTAMP WITH TIME ZONE,
  counted BOOLEAN DEFAULT 'true' NOT NULL,
  release_by TIMESTAMP WITH TIME ZONE,
  release_reason TEXT,
  unproven BOOLEAN DEFAULT 'false' NOT NULL,
  purged_at TIMESTAMP WITH TIME ZONE,
  wipe_requirements JSONB,
  release_key_generation INTEGER,
  PRIMARY KEY (id),
  CONSTRAINT allocations_state
    CHECK (state IN ('requested', 'provisioning', 'active', 'releasing', 'released', 'failed', 'release_failed'))
);
CREATE INDEX allocations_by_node ON allocations (node_id) WHERE ended_at IS NULL;
CREATE INDEX allocations_by_project ON allocations (project_id, id);
CREATE INDEX allocations_with_old_history ON allocations (ended_at)
  WHERE ended_at IS NOT NULL AND history_removed_at IS NULL;
SELECT raise_tenant_wall('allocations');

CREATE TABLE host_reports (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'hrp\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  reason TEXT NOT NULL,
  reported_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  cleared_at TIMESTAMP WITH TIME ZONE,
  cleared_by TEXT COLLATE "C",
  cleared_reason TEXT,
  PRIMARY KEY (id),
  CONSTRAINT host_reports_cleared
    CHECK ((cleared_at IS NULL) = (cleared_by IS NULL) AND (cleared_at IS NULL) = (cleared_reason IS NULL))
);
CREATE INDEX host_reports_by_node ON host_reports (node_id, id);
CREATE UNIQUE INDEX host_reports_open_by_allocation ON host_reports (allocation_id) WHERE cleared_at IS NULL;
CREATE INDEX host_reports_open_by_tenant ON host_reports (tenant_id) WHERE cleared_at IS NULL;
SELECT raise_tenant_wall('host_reports');
