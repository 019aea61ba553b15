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
ALTER TABLE controller_bindings
  ADD COLUMN kind_binding_id TEXT COLLATE "C",
  ADD COLUMN own_project_id TEXT COLLATE "C" GENERATED ALWAYS AS
    (CASE WHEN kind_binding_id IS NULL THEN project_id END) STORED,
  DROP CONSTRAINT controller_bindings_own_app,
  ADD CONSTRAINT controller_bindings_own_app FOREIGN KEY (app_id, own_project_id) REFERENCES apps (id, project_id),
  ADD CONSTRAINT controller_bindings_app FOREIGN KEY (app_id) REFERENCES apps (id),
  ADD CONSTRAINT controller_bindings_kind_binding FOREIGN KEY (kind_binding_id, service_account_id, project_id)
    REFERENCES controller_kind_bindings (id, service_account_id, project_id) ON DELETE CASCADE;
CREATE INDEX controller_bindings_by_kind_binding ON controller_bindings (kind_binding_id);

ALTER TABLE controller_consents
  ADD COLUMN given_with TEXT NOT NULL DEFAULT 'consent',
  ADD CONSTRAINT controller_consents_given_with CHECK (given_with IN ('consent', 'entitlement'));
CREATE INDEX app_versions_by_kind ON app_versions (artifact_kind, app_id) WHERE status <> 'retired';

-- A consent holds for whom it was given to. Where only the platform's controller of the kind served the app, it reaches no
-- controller that the publisher binds later: the tenant is asked again.
ALTER TABLE controller_consents ADD COLUMN to_platform BOOLEAN NOT NULL DEFAULT false;
DROP POLICY controller_window ON controller_consents;
CREATE POLICY controller_window ON controller_consents FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> '' AND EXISTS (
    SELECT 1 FROM controller_bindings b
    WHERE b.app_id = controller_consents.app_id
      AND (NOT controller_consents.to_platform OR b.kind_binding_id IS NOT NULL)
      AND b.service_account_id = (SELECT current_setting('gpuaas.controller', true)))
);
CREATE OR REPLACE FUNCTION raise_controller_wall(guarded text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format(
    'CREATE POLICY controller_wall ON %1$I AS RESTRICTIVE USING ('
    '(SELECT coalesce(current_setting(''gpuaas.controller'', true), '''')) = '''' OR EXISTS ('
    'SELECT 1 FROM controller_consents c JOIN controller_bindings b ON b.app_id = c.app_id'
    ' WHERE c.tenant_id = %1$I.tenant_id AND c.app_slug = %1$I.app_slug AND c.withdrawn_at IS NULL'
    ' AND (c.project_ids IS NULL OR %1$I.project_id = ANY (c.project_ids))'
    ' AND (NOT c.to_platform OR b.kind_binding_id IS NOT NULL)'
    ' AND b.service_account_id = (SELECT current_setting(''gpuaas.controller'', true))))', guarded);
END $$;
DROP POLICY controller_wall ON app_operations;
SELECT raise_controller_wall('app_operations');
DROP POLICY controller_wall ON app_instances;
SELECT raise_controller_wall('app_instances');
