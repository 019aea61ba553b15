-- The projects that an instance serves: its own, and further ones of the same tenant. One that it no longer serves keeps its
-- row, with the end: what was used for it stays attributed to it.
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
  CONSTRAINT instance_projects_of_instance FOREIGN KEY (instance_id, tenant_id) REFERENCES app_instances (id, tenant_id),
  -- Both of one tenant: the database refuses another tenant's project even if the code is wrong.
  CONSTRAINT instance_projects_same_tenant FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX instance_projects_served ON instance_projects (project_id, instance_id) WHERE NOT home AND until IS NULL;
SELECT raise_tenant_wall('instance_projects');

DO $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);  -- the rows of all tenants
  INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by)
    SELECT i.id, i.project_id, i.tenant_id, p.slug, true, i.created_at, i.created_by
    FROM app_instances i JOIN projects p ON p.id = i.project_id;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

-- Whose allocation a member is on, where that is not the instance's own project's.
ALTER TABLE app_members ADD COLUMN place_project_id TEXT COLLATE "C";
ALTER TABLE app_members ADD CONSTRAINT app_members_place_served
  FOREIGN KEY (instance_id, place_project_id) REFERENCES instance_projects (instance_id, project_id) NOT VALID;
ALTER TABLE app_members VALIDATE CONSTRAINT app_members_place_served;
CREATE INDEX app_members_elsewhere ON app_members (instance_id, place_project_id)
  WHERE removed_at IS NULL AND place_project_id IS NOT NULL;

-- Whose instance a receipt is about, where that is not the project of the allocation: both may read it.
ALTER TABLE teardown_receipts ADD COLUMN instance_project_id TEXT COLLATE "C";
CREATE INDEX teardown_receipts_elsewhere ON teardown_receipts (instance_project_id, id)
  WHERE instance_project_id IS NOT NULL;

-- What apps count: records that are only ever added, each known by the key that its reporter gave it.
CREATE TABLE app_usage_records (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'aur\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  app_slug TEXT COLLATE "C" NOT NULL,
  source_key TEXT COLLATE "C" NOT NULL,
  metric TEXT COLLATE "C" NOT NULL,
  unit TEXT COLLATE "C" NOT NULL,
  quantity BIGINT NOT NULL,
  started_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
  subject TEXT,
  reported_by TEXT COLLATE "C" NOT NULL,
  correlation_id TEXT NOT NULL,
  recorded_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT app_usage_records_once UNIQUE (instance_id, source_key),
  CONSTRAINT app_usage_records_quantity CHECK (quantity >= 0),
  CONSTRAINT app_usage_records_span CHECK (started_at <= ended_at),
  CONSTRAINT app_usage_records_served FOREIGN KEY (instance_id, project_id) REFERENCES instance_projects (instance_id, project_id)
);
CREATE INDEX app_usage_records_by_project ON app_usage_records (project_id, ended_at, id);
CREATE INDEX app_usage_records_by_instance ON app_usage_records (project_id, instance_id, ended_at, id);
CREATE TRIGGER app_usage_records_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON app_usage_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
SELECT raise_tenant_wall('app_usage_records');

-- The same, summed by the day (UTC) in which it ended, in the transaction that records it: totals cost days, not records.
CREATE TABLE app_usage_days (
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  instance_id TEXT COLLATE "C" NOT NULL,
  app_slug TEXT COLLATE "C" NOT NULL,
  metric TEXT COLLATE "C" NOT NULL,
  unit TEXT COLLATE "C" NOT NULL,
  day DATE NOT NULL,
  quantity NUMERIC(38, 0) NOT NULL,
  records BIGINT NOT NULL,
  PRIMARY KEY (project_id, instance_id, metric, unit, day)
);
SELECT raise_tenant_wall('app_usage_days');
