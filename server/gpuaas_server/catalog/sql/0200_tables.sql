-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE apps (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'app\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  slug TEXT COLLATE "C" NOT NULL,
  display_name TEXT NOT NULL,
  description TEXT NOT NULL,
  category TEXT,
  keywords TEXT[] NOT NULL,
  search TEXT NOT NULL,
  visibility TEXT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  stable_version_id TEXT COLLATE "C",
  previous_version_id TEXT COLLATE "C",
  PRIMARY KEY (id),
  CONSTRAINT apps_one_per_slug UNIQUE (slug),
  CONSTRAINT apps_with_tenant UNIQUE (id, tenant_id),
  CONSTRAINT apps_with_project UNIQUE (id, project_id),
  CONSTRAINT apps_visibility CHECK (visibility IN ('private', 'entitled', 'public')),
  CONSTRAINT apps_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX apps_by_project ON apps (project_id, id);
SELECT raise_tenant_wall('apps');

CREATE TABLE app_versions (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'apv\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  app_id TEXT COLLATE "C" NOT NULL,
  version TEXT COLLATE "C" NOT NULL,
  precedence TEXT COLLATE "C" NOT NULL,
  runtime_version TEXT NOT NULL,
  artifact_kind TEXT NOT NULL,
  artifact_digest TEXT COLLATE "C" NOT NULL,
  manifest JSONB NOT NULL,
  content_digest TEXT COLLATE "C" NOT NULL,
  status TEXT NOT NULL,
  notice TEXT,
  retire_at TIMESTAMP WITH TIME ZONE,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  activated_at TIMESTAMP WITH TIME ZONE,
  deprecated_at TIMESTAMP WITH TIME ZONE,
  retired_at TIMESTAMP WITH TIME ZONE,
  generation BIGINT DEFAULT '1' NOT NULL,
  canary_percent INTEGER,
  trial_since TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT app_versions_one_per_version UNIQUE (app_id, version),
  CONSTRAINT app_versions_status CHECK (status IN ('draft', 'canary', 'active', 'deprecated', 'retired')),
  CONSTRAINT app_versions_canary
    CHECK ((status = 'canary') = (canary_percent IS NOT NULL) AND canary_percent BETWEEN 1 AND 100),
  CONSTRAINT app_versions_own_app FOREIGN KEY (app_id, tenant_id) REFERENCES apps (id, tenant_id)
);
CREATE INDEX app_versions_active_by_digest ON app_versions (artifact_digest) WHERE status = 'active';
CREATE INDEX app_versions_by_kind ON app_versions (artifact_kind, app_id) WHERE status <> 'retired';
CREATE INDEX app_versions_newest_first ON app_versions (app_id, precedence DESC, id DESC);
CREATE UNIQUE INDEX app_versions_one_canary ON app_versions (app_id) WHERE status = 'canary';
SELECT raise_tenant_wall('app_versions');

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

CREATE TABLE entitlements (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'etl\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  app_id TEXT COLLATE "C" NOT NULL,
  granted_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT entitlements_one_per_app UNIQUE (tenant_id, app_id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id),
  FOREIGN KEY (app_id) REFERENCES apps (id)
);
CREATE INDEX entitlements_by_app ON entitlements (app_id, id);
SELECT raise_tenant_wall('entitlements');

-- Windows in the wall, for reading only: a public app, one that the tenant is entitled to, and their versions that are no
-- drafts. Without a tenant nothing is seen, as everywhere. What the subqueries may see is walled as well.
CREATE POLICY catalogue_window ON apps FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.tenant', true), '')) <> ''
  AND (visibility = 'public' OR (visibility = 'entitled' AND EXISTS (
    SELECT 1 FROM entitlements e
    WHERE e.app_id = apps.id AND e.tenant_id = (SELECT current_setting('gpuaas.tenant', true)))))
);
CREATE POLICY catalogue_window ON app_versions FOR SELECT USING (
  status <> 'draft' AND EXISTS (SELECT 1 FROM apps a WHERE a.id = app_versions.app_id)
);

-- How far the platform's own apps are. They are of no tenant, and every project reads them.
CREATE TABLE provided_apps (
  name TEXT COLLATE "C" NOT NULL PRIMARY KEY,
  display_name TEXT NOT NULL,
  state TEXT NOT NULL,
  detail TEXT,
  reported_at TIMESTAMP WITH TIME ZONE NOT NULL,
  CONSTRAINT provided_apps_state CHECK (state IN ('preparing', 'provided', 'unavailable'))
);
