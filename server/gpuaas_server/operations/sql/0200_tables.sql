-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE app_operations (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'op\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  app_slug TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  target TEXT NOT NULL,
  member_id TEXT COLLATE "C",
  new_member_id TEXT COLLATE "C",
  parent_id TEXT COLLATE "C",
  on_failure TEXT,
  deferred BOOLEAN DEFAULT 'false' NOT NULL,
  lane INT4RANGE,
  status TEXT NOT NULL,
  status_since TIMESTAMP WITH TIME ZONE NOT NULL,
  phase TEXT,
  status_before TEXT,
  parameters JSONB DEFAULT '{}' NOT NULL,
  steps JSONB DEFAULT '[]' NOT NULL,
  progress JSONB,
  failure JSONB,
  forced JSONB,
  children JSONB,
  reason TEXT,
  requested_by TEXT COLLATE "C" NOT NULL,
  requested_by_name TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  attempt INTEGER DEFAULT '0' NOT NULL,
  controller_id TEXT COLLATE "C",
  replica TEXT,
  lease_digest TEXT COLLATE "C",
  lease_until TIMESTAMP WITH TIME ZONE,
  cancel_requested_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  claimed_at TIMESTAMP WITH TIME ZONE,
  finished_at TIMESTAMP WITH TIME ZONE,
  deadline_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  kept_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT app_operations_status
    CHECK (status IN ('pending', 'claimed', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
  CONSTRAINT app_operations_target
    CHECK ((target = 'instance' AND member_id IS NULL AND lower_inf(lane) AND upper_inf(lane))
      OR (target = 'member' AND member_id IS NOT NULL AND upper(lane) = lower(lane) + 1)
      OR (target = 'bulk' AND member_id IS NULL AND lane IS NULL)),
  CONSTRAINT app_operations_finished CHECK ((finished_at IS NULL) = (status IN ('pending', 'claimed', 'running'))),
  CONSTRAINT app_operations_no_overlap EXCLUDE USING gist (instance_id WITH =, lane WITH &&) WHERE (finished_at IS NULL)
);
CREATE INDEX app_operations_anywhere ON app_operations (status, id);
CREATE INDEX app_operations_by_instance ON app_operations (instance_id, id);
CREATE INDEX app_operations_by_parent ON app_operations (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX app_operations_by_project ON app_operations (project_id, id);
CREATE INDEX app_operations_by_status ON app_operations (project_id, status, id);
CREATE INDEX app_operations_ended ON app_operations (coalesce(kept_at, finished_at)) WHERE finished_at IS NOT NULL;
CREATE INDEX app_operations_leased ON app_operations (controller_id) WHERE lease_digest IS NOT NULL;
CREATE INDEX app_operations_live ON app_operations (instance_id, id) WHERE finished_at IS NULL;
-- Finds the tenants that wait for an app, and the oldest operations of each, without reading the others.
CREATE INDEX app_operations_offered ON app_operations (app_slug, tenant_id, id)
  WHERE status = 'pending' AND NOT deferred AND target <> 'bulk';
CREATE INDEX app_operations_work ON app_operations (project_id, app_slug, id)
  WHERE status = 'pending' AND NOT deferred AND target <> 'bulk';
SELECT raise_tenant_wall('app_operations');
