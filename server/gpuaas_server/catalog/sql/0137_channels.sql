-- Canaries of app versions, the version that launches take, and what projects choose for themselves.
ALTER TABLE apps ADD COLUMN stable_version_id TEXT COLLATE "C", ADD COLUMN previous_version_id TEXT COLLATE "C";
ALTER TABLE app_versions
  ADD COLUMN canary_percent INTEGER,
  DROP CONSTRAINT app_versions_status,
  ADD CONSTRAINT app_versions_status CHECK (status IN ('draft', 'canary', 'active', 'deprecated', 'retired')),
  ADD CONSTRAINT app_versions_canary
    CHECK ((status = 'canary') = (canary_percent IS NOT NULL) AND canary_percent BETWEEN 1 AND 100);
CREATE UNIQUE INDEX app_versions_one_canary ON app_versions (app_id) WHERE status = 'canary';
CREATE TABLE app_channels (
  app_id TEXT COLLATE "C" NOT NULL REFERENCES apps (id),
  project_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  channel TEXT NOT NULL,
  set_by TEXT COLLATE "C" NOT NULL,
  set_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (app_id, project_id),
  CONSTRAINT app_channels_channel CHECK (channel IN ('stable', 'canary')),
  CONSTRAINT app_channels_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX app_channels_by_project ON app_channels (project_id, app_id);
SELECT raise_tenant_wall('app_channels');
