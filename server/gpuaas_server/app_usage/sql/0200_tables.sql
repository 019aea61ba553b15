-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

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
CREATE INDEX app_usage_days_by_day ON app_usage_days (project_id, day);
SELECT raise_tenant_wall('app_usage_days');

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
  CONSTRAINT app_usage_records_span CHECK (started_at <= ended_at)
);
CREATE INDEX app_usage_records_by_instance ON app_usage_records (project_id, instance_id, ended_at, id);
CREATE INDEX app_usage_records_by_project ON app_usage_records (project_id, ended_at, id);
SELECT raise_tenant_wall('app_usage_records');

CREATE TRIGGER app_usage_records_stay BEFORE UPDATE OR DELETE OR TRUNCATE ON app_usage_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A controller sees the usage of the instances that it sees.
CREATE POLICY controller_wall ON app_usage_records AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = app_usage_records.instance_id));
