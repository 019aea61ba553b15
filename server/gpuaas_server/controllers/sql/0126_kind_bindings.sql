-- A controller for every app of a kind of artifact, and consents that came with an entitlement.

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
  CONSTRAINT controller_kind_bindings_own_account FOREIGN KEY (service_account_id, project_id)
    REFERENCES service_accounts (id, project_id) ON DELETE CASCADE,
  CONSTRAINT controller_kind_bindings_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX controller_kind_bindings_by_project ON controller_kind_bindings (project_id, id);
SELECT raise_tenant_wall('controller_kind_bindings');

-- The binding of one app that follows from a kind binding is a row like any other, so that every policy and query holds for it
-- too. Only such a row may join an app to a service account of another project: of the others, own_project_id is not null.
ALTER TABLE controller_bindings
  ADD COLUMN kind_binding_id TEXT COLLATE "C" REFERENCES controller_kind_bindings (id) ON DELETE CASCADE,
  ADD COLUMN own_project_id TEXT COLLATE "C" GENERATED ALWAYS AS
    (CASE WHEN kind_binding_id IS NULL THEN project_id END) STORED,
  DROP CONSTRAINT controller_bindings_own_app,
  ADD CONSTRAINT controller_bindings_own_app FOREIGN KEY (app_id, own_project_id) REFERENCES apps (id, project_id),
  ADD CONSTRAINT controller_bindings_app FOREIGN KEY (app_id) REFERENCES apps (id);
CREATE INDEX controller_bindings_by_kind_binding ON controller_bindings (kind_binding_id);

ALTER TABLE controller_consents
  ADD COLUMN given_with TEXT NOT NULL DEFAULT 'consent',
  ADD CONSTRAINT controller_consents_given_with CHECK (given_with IN ('consent', 'entitlement'));
CREATE INDEX app_versions_by_kind ON app_versions (artifact_kind, app_id) WHERE status <> 'retired';
