-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

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
  sequence BIGINT GENERATED ALWAYS AS IDENTITY,
  PRIMARY KEY (id)
);
CREATE INDEX app_instance_events_by_instance ON app_instance_events (instance_id, sequence);
SELECT raise_tenant_wall('app_instance_events');

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
  mode JSONB,
  secrets_stale BOOLEAN DEFAULT 'false' NOT NULL,
  reconcile_policy TEXT DEFAULT 'notify' NOT NULL,
  drift JSONB,
  secrets_due JSONB DEFAULT '[]' NOT NULL,
  secrets_exposed JSONB DEFAULT '[]' NOT NULL,
  bound_capacity_shape TEXT,
  PRIMARY KEY (id),
  CONSTRAINT app_instances_with_tenant UNIQUE (id, tenant_id),
  CONSTRAINT app_instances_status CHECK (status IN ('created', 'starting', 'running', 'stopping', 'stopped', 'failed')),
  CONSTRAINT app_instances_health CHECK (health IN ('unknown', 'progressing', 'healthy', 'degraded', 'unhealthy')),
  CONSTRAINT app_instances_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id),
  CONSTRAINT app_instances_reconcile_policy CHECK (reconcile_policy IN ('off', 'notify', 'auto'))
);
CREATE INDEX app_instances_by_app ON app_instances (project_id, app_slug, id);
CREATE INDEX app_instances_by_attempted_digest ON app_instances ((attempted ->> 'digest'))
  WHERE decommissioned_at IS NULL AND attempted IS NOT NULL;
CREATE INDEX app_instances_by_attempted_version_id ON app_instances ((attempted ->> 'version_id'))
  WHERE decommissioned_at IS NULL AND attempted IS NOT NULL;
CREATE INDEX app_instances_by_digest ON app_instances (digest) WHERE decommissioned_at IS NULL;
CREATE INDEX app_instances_by_health ON app_instances (project_id, health, id);
CREATE INDEX app_instances_by_previous_digest ON app_instances ((previous ->> 'digest'))
  WHERE decommissioned_at IS NULL AND previous IS NOT NULL;
CREATE INDEX app_instances_by_previous_version_id ON app_instances ((previous ->> 'version_id'))
  WHERE decommissioned_at IS NULL AND previous IS NOT NULL;
CREATE INDEX app_instances_by_project ON app_instances (project_id, id);
CREATE INDEX app_instances_by_status ON app_instances (project_id, status, id);
CREATE INDEX app_instances_by_tenant ON app_instances (tenant_id, id) WHERE decommissioned_at IS NULL;
CREATE INDEX app_instances_by_version ON app_instances (version_id) WHERE decommissioned_at IS NULL;
CREATE UNIQUE INDEX app_instances_one_per_name ON app_instances (project_id, name) WHERE decommissioned_at IS NULL;
CREATE INDEX app_instances_served ON app_instances (app_slug, id) WHERE decommissioned_at IS NULL;
SELECT raise_tenant_wall('app_instances');

CREATE TABLE instance_projects (
  instance_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  slug TEXT NOT NULL,
  home BOOLEAN NOT NULL,
  since TIMESTAMP WITH TIME ZONE NOT NULL,
  until TIMESTAMP WITH TIME ZONE,
  added_by TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (instance_id, project_id),
  CONSTRAINT instance_projects_home_stays CHECK (NOT home OR until IS NULL),
  CONSTRAINT instance_projects_of_instance FOREIGN KEY (instance_id, tenant_id)
    REFERENCES app_instances (id, tenant_id),
  CONSTRAINT instance_projects_same_tenant FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX instance_projects_by_project ON instance_projects (project_id, instance_id);
CREATE INDEX instance_projects_served ON instance_projects (project_id, instance_id) WHERE NOT home AND until IS NULL;
SELECT raise_tenant_wall('instance_projects');

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
  place_project_id TEXT COLLATE "C",
  watch JSONB,
  probe_report JSONB,
  shape TEXT,
  PRIMARY KEY (id),
  CONSTRAINT app_members_status
    CHECK (status IN ('pending', 'joining', 'ready', 'degraded', 'draining', 'drained', 'removing', 'removed',
      'failed')),
  CONSTRAINT app_members_tombstone CHECK ((status = 'removed') = (removed_at IS NOT NULL)),
  CONSTRAINT app_members_one_instance EXCLUDE USING gist (allocation_id WITH =, instance_id WITH <>)
    WHERE (removed_at IS NULL),
  CONSTRAINT app_members_own_instance FOREIGN KEY (instance_id, tenant_id) REFERENCES app_instances (id, tenant_id),
  CONSTRAINT app_members_place_served FOREIGN KEY (instance_id, place_project_id)
    REFERENCES instance_projects (instance_id, project_id)
);
CREATE INDEX app_members_busy ON app_members (instance_id) WHERE operation_id IS NOT NULL;
CREATE INDEX app_members_by_allocation ON app_members (allocation_id) WHERE removed_at IS NULL;
CREATE UNIQUE INDEX app_members_by_instance ON app_members (instance_id, ordinal);
CREATE INDEX app_members_elsewhere ON app_members (instance_id, place_project_id)
  WHERE removed_at IS NULL AND place_project_id IS NOT NULL;
CREATE INDEX app_members_live ON app_members (instance_id, ordinal) WHERE removed_at IS NULL;
SELECT raise_tenant_wall('app_members');

CREATE TABLE instance_secrets (
  instance_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  secret_id TEXT COLLATE "C" NOT NULL,
  version INTEGER NOT NULL,
  set_at TIMESTAMP WITH TIME ZONE NOT NULL,
  set_by TEXT COLLATE "C" NOT NULL,
  operation_id TEXT COLLATE "C",
  read_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (instance_id, name),
  CONSTRAINT instance_secrets_version CHECK (version >= 1),
  CONSTRAINT instance_secrets_of_instance FOREIGN KEY (instance_id, tenant_id)
    REFERENCES app_instances (id, tenant_id),
  CONSTRAINT instance_secrets_same_tenant FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX instance_secrets_by_secret ON instance_secrets (secret_id);
SELECT raise_tenant_wall('instance_secrets');

ALTER TABLE app_operations
  ADD CONSTRAINT app_operations_own_instance FOREIGN KEY (instance_id, tenant_id)
  REFERENCES app_instances (id, tenant_id);
