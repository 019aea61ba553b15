-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE tenants (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'tnt\_%'),
  tenant_id TEXT COLLATE "C" GENERATED ALWAYS AS (id) STORED,
  slug TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  delete_after TIMESTAMP WITH TIME ZONE,
  wipe_grade TEXT DEFAULT 'inspected' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT tenants_wipe_grade CHECK (wipe_grade IN ('inspected', 'rebooted')),
  UNIQUE (slug)
);
SELECT raise_tenant_wall('tenants');

CREATE TABLE projects (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'prj\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  slug TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  delete_after TIMESTAMP WITH TIME ZONE,
  platform BOOLEAN DEFAULT 'false' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT projects_one_per_slug UNIQUE (tenant_id, slug),
  CONSTRAINT projects_with_tenant UNIQUE (id, tenant_id),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id)
);
CREATE UNIQUE INDEX projects_one_of_platform ON projects (platform) WHERE platform;
SELECT raise_tenant_wall('projects');

-- Who belongs to a tenant or a project belongs to one that is there.
ALTER TABLE users ADD FOREIGN KEY (tenant_id) REFERENCES tenants (id);
ALTER TABLE role_bindings
  ADD CONSTRAINT role_bindings_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id);
ALTER TABLE service_accounts
  ADD CONSTRAINT service_accounts_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id);
