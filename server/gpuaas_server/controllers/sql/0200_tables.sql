-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE controller_kind_bindings (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ckb\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  artifact_kind TEXT COLLATE "C" NOT NULL,
  service_account_id TEXT COLLATE "C" NOT NULL,
  service_account_name TEXT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT controller_kind_bindings_kind CHECK (artifact_kind IN ('launchable', 'oci')),
  CONSTRAINT controller_kind_bindings_one_per_account UNIQUE (artifact_kind, service_account_id),
  CONSTRAINT controller_kind_bindings_of_account UNIQUE (id, service_account_id, project_id),
  CONSTRAINT controller_kind_bindings_own_account FOREIGN KEY (service_account_id, project_id)
    REFERENCES service_accounts (id, project_id) ON DELETE CASCADE,
  CONSTRAINT controller_kind_bindings_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX controller_kind_bindings_by_project ON controller_kind_bindings (project_id, id);
SELECT raise_tenant_wall('controller_kind_bindings');

-- The binding of one app that follows from a kind binding is a row like any other, so that every policy and query holds for it
-- too. Only such a row may join an app to a service account of another project: of the others, own_project_id is not null. And
-- it joins the app to the account of its kind binding, no other.
CREATE TABLE controller_bindings (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'cbd\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  app_id TEXT COLLATE "C" NOT NULL,
  app_slug TEXT COLLATE "C" NOT NULL,
  service_account_id TEXT COLLATE "C" NOT NULL,
  service_account_name TEXT NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  kind_binding_id TEXT COLLATE "C",
  own_project_id TEXT COLLATE "C" GENERATED ALWAYS AS
    (CASE WHEN kind_binding_id IS NULL THEN project_id END) STORED,
  PRIMARY KEY (id),
  CONSTRAINT controller_bindings_one_per_account UNIQUE (app_id, service_account_id),
  CONSTRAINT controller_bindings_app FOREIGN KEY (app_id) REFERENCES apps (id),
  CONSTRAINT controller_bindings_own_app FOREIGN KEY (app_id, own_project_id) REFERENCES apps (id, project_id),
  CONSTRAINT controller_bindings_kind_binding FOREIGN KEY (kind_binding_id, service_account_id, project_id)
    REFERENCES controller_kind_bindings (id, service_account_id, project_id) ON DELETE CASCADE,
  CONSTRAINT controller_bindings_own_account FOREIGN KEY (service_account_id, project_id)
    REFERENCES service_accounts (id, project_id) ON DELETE CASCADE,
  CONSTRAINT controller_bindings_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX controller_bindings_by_account ON controller_bindings (service_account_id, app_slug);
CREATE INDEX controller_bindings_by_kind_binding ON controller_bindings (kind_binding_id);
CREATE INDEX controller_bindings_by_project ON controller_bindings (project_id, id);
CREATE INDEX controller_bindings_by_slug ON controller_bindings (app_slug, id);
SELECT raise_tenant_wall('controller_bindings');

CREATE TABLE controller_consents (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ccs\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  app_id TEXT COLLATE "C" NOT NULL,
  app_slug TEXT COLLATE "C" NOT NULL,
  permissions TEXT[] NOT NULL,
  project_ids TEXT[] COLLATE "C",
  given_by TEXT COLLATE "C" NOT NULL,
  given_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_claimed_at TIMESTAMP WITH TIME ZONE,
  withdrawn_by TEXT COLLATE "C",
  withdrawn_at TIMESTAMP WITH TIME ZONE,
  withdrawn_reason TEXT,
  given_with TEXT DEFAULT 'consent' NOT NULL,
  to_platform BOOLEAN DEFAULT 'false' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT controller_consents_withdrawn CHECK ((withdrawn_at IS NULL) = (withdrawn_by IS NULL)),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id),
  FOREIGN KEY (app_id) REFERENCES apps (id),
  CONSTRAINT controller_consents_given_with CHECK (given_with IN ('consent', 'entitlement'))
);
CREATE UNIQUE INDEX controller_consents_one_per_app ON controller_consents (tenant_id, app_slug)
  WHERE withdrawn_at IS NULL;
CREATE INDEX controller_consents_by_app ON controller_consents (app_id, tenant_id);
CREATE INDEX controller_consents_by_tenant ON controller_consents (tenant_id, id);
SELECT raise_tenant_wall('controller_consents');

CREATE TABLE controller_replicas (
  service_account_id TEXT COLLATE "C" NOT NULL,
  app_slug TEXT COLLATE "C" NOT NULL,
  replica TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  service_account_name TEXT NOT NULL,
  version TEXT,
  since TIMESTAMP WITH TIME ZONE NOT NULL,
  last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (service_account_id, app_slug, replica),
  CONSTRAINT controller_replicas_own_account FOREIGN KEY (service_account_id, project_id)
    REFERENCES service_accounts (id, project_id) ON DELETE CASCADE
);
CREATE INDEX controller_replicas_by_app ON controller_replicas (app_slug, last_seen_at);
CREATE INDEX controller_replicas_by_project ON controller_replicas (project_id, service_account_id);
SELECT raise_tenant_wall('controller_replicas');
