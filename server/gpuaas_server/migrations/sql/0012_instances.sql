-- Which apps a service account is the controller of.
ALTER TABLE service_accounts ADD COLUMN app_slugs TEXT[] DEFAULT '{}' NOT NULL;

-- A release that waits for what runs on the allocation, and until when at the latest.
ALTER TABLE allocations ADD COLUMN release_by TIMESTAMP WITH TIME ZONE;
ALTER TABLE allocations ADD COLUMN release_reason TEXT;

CREATE TABLE app_instances (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ins\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  app_id TEXT COLLATE "C" NOT NULL,
  app_slug TEXT COLLATE "C" NOT NULL,
  version_id TEXT COLLATE "C" NOT NULL,
  version TEXT NOT NULL,
  runtime_version TEXT,
  digest TEXT COLLATE "C",
  publisher_project_id TEXT COLLATE "C",
  manifest JSONB NOT NULL,
  previous JSONB,
  attempted JSONB,
  inputs JSONB NOT NULL,
  placement_intent JSONB NOT NULL,
  status TEXT NOT NULL,
  status_since TIMESTAMP WITH TIME ZONE NOT NULL,
  failure JSONB,
  health TEXT NOT NULL,
  health_since TIMESTAMP WITH TIME ZONE NOT NULL,
  health_reasons JSONB NOT NULL,
  reported JSONB,
  reported_at TIMESTAMP WITH TIME ZONE,
  flags JSONB DEFAULT '[]' NOT NULL,
  member_counts JSONB DEFAULT '{}' NOT NULL,
  next_ordinal INTEGER DEFAULT '0' NOT NULL,
  runtime JSONB,
  access_bundle JSONB,
  operation_id TEXT COLLATE "C",
  last_operation_id TEXT COLLATE "C",
  created_by TEXT COLLATE "C" NOT NULL,
  correlation_id TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  deployed_at TIMESTAMP WITH TIME ZONE,
  decommissioned_at TIMESTAMP WITH TIME ZONE,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT app_instances_with_tenant UNIQUE (id, tenant_id),
  CONSTRAINT app_instances_status CHECK (status IN ('created', 'starting', 'running', 'stopping', 'stopped', 'failed')),
  CONSTRAINT app_instances_health CHECK (health IN ('unknown', 'progressing', 'healthy', 'degraded', 'unhealthy')),
  CONSTRAINT app_instances_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX app_instances_by_project ON app_instances (project_id, id);
CREATE INDEX app_instances_by_status ON app_instances (project_id, status, id);
CREATE INDEX app_instances_by_app ON app_instances (project_id, app_slug, id);
CREATE INDEX app_instances_by_digest ON app_instances (digest) WHERE decommissioned_at IS NULL;
CREATE INDEX app_instances_by_version ON app_instances (version_id) WHERE decommissioned_at IS NULL;
CREATE UNIQUE INDEX app_instances_one_per_name ON app_instances (project_id, name) WHERE decommissioned_at IS NULL;

CREATE TABLE app_members (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'mem\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  ordinal INTEGER NOT NULL,
  component_key TEXT NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  status_since TIMESTAMP WITH TIME ZONE NOT NULL,
  failure JSONB,
  adapter_detail JSONB,
  operation_id TEXT COLLATE "C",
  last_operation_id TEXT COLLATE "C",
  correlation_id TEXT NOT NULL,
  host_gone BOOLEAN DEFAULT 'false' NOT NULL,
  leaving BOOLEAN DEFAULT 'false' NOT NULL,
  verified BOOLEAN,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ready_at TIMESTAMP WITH TIME ZONE,
  removed_at TIMESTAMP WITH TIME ZONE,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT app_members_status CHECK (status IN ('pending', 'joining', 'ready', 'degraded', 'draining', 'drained', 'removing', 'removed', 'failed')),
  CONSTRAINT app_members_tombstone CHECK ((status = 'removed') = (removed_at IS NOT NULL)),
  -- Two instances never share an allocation; members of one may.
  CONSTRAINT app_members_one_instance EXCLUDE USING gist (allocation_id WITH =, instance_id WITH <>) WHERE (removed_at IS NULL),
  CONSTRAINT app_members_own_instance FOREIGN KEY (instance_id, tenant_id) REFERENCES app_instances (id, tenant_id)
);
CREATE UNIQUE INDEX app_members_by_instance ON app_members (instance_id, ordinal);
CREATE INDEX app_members_live ON app_members (instance_id, ordinal) WHERE removed_at IS NULL;
CREATE INDEX app_members_by_allocation ON app_members (allocation_id) WHERE removed_at IS NULL;

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
  held BOOLEAN DEFAULT 'false' NOT NULL,
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
  PRIMARY KEY (id),
  CONSTRAINT app_operations_status CHECK (status IN ('pending', 'claimed', 'running', 'succeeded', 'failed', 'cancelled', 'expired')),
  CONSTRAINT app_operations_target CHECK ((target = 'instance' AND member_id IS NULL AND lower_inf(lane) AND upper_inf(lane)) OR (target = 'member' AND member_id IS NOT NULL AND upper(lane) = lower(lane) + 1) OR (target = 'bulk' AND member_id IS NULL AND lane IS NULL)),
  CONSTRAINT app_operations_finished CHECK ((finished_at IS NULL) = (status IN ('pending', 'claimed', 'running'))),
  -- One live operation a member; one on the whole instance shuts out those on members, and the reverse.
  CONSTRAINT app_operations_no_overlap EXCLUDE USING gist (instance_id WITH =, lane WITH &&) WHERE (finished_at IS NULL),
  CONSTRAINT app_operations_own_instance FOREIGN KEY (instance_id, tenant_id) REFERENCES app_instances (id, tenant_id)
);
CREATE INDEX app_operations_by_project ON app_operations (project_id, id);
CREATE INDEX app_operations_by_status ON app_operations (project_id, status, id);
CREATE INDEX app_operations_by_instance ON app_operations (instance_id, id);
CREATE INDEX app_operations_live ON app_operations (instance_id, id) WHERE finished_at IS NULL;
CREATE INDEX app_operations_by_parent ON app_operations (parent_id, id) WHERE parent_id IS NOT NULL;
CREATE INDEX app_operations_work ON app_operations (project_id, app_slug, id) WHERE status = 'pending' AND NOT held AND target <> 'bulk';

CREATE TABLE app_instance_events (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'iev\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  at TIMESTAMP WITH TIME ZONE NOT NULL,
  type TEXT NOT NULL,
  subject TEXT COLLATE "C" NOT NULL,
  actor TEXT NOT NULL,
  correlation_id TEXT NOT NULL,
  data JSONB NOT NULL,
  sequence BIGINT GENERATED ALWAYS AS IDENTITY NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX app_instance_events_by_instance ON app_instance_events (instance_id, sequence);

-- How many instances stand on some bytes, or on a version, whosever they are: a publisher must know before it retires them,
-- and learns nothing but the number.
CREATE FUNCTION live_instances(wanted_digest text, wanted_version text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
  live bigint;
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  IF wanted_digest IS NOT NULL THEN
    SELECT count(*) INTO live FROM app_instances WHERE digest = wanted_digest AND decommissioned_at IS NULL;
  ELSE
    SELECT count(*) INTO live FROM app_instances WHERE version_id = wanted_version AND decommissioned_at IS NULL;
  END IF;
  PERFORM set_config('gpuaas.platform', before, true);
  RETURN live;
END $$;

SELECT raise_tenant_wall(t) FROM unnest(ARRAY['app_instances', 'app_members', 'app_operations', 'app_instance_events']) t;
