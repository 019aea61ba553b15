-- Controllers that serve tenants: bindings, consents, replicas, and what a controller sees beyond its own tenant.

ALTER TABLE apps ADD CONSTRAINT apps_with_project UNIQUE (id, project_id);
ALTER TABLE service_accounts ADD CONSTRAINT service_accounts_with_project UNIQUE (id, project_id);

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
  PRIMARY KEY (id),
  CONSTRAINT controller_bindings_one_per_account UNIQUE (app_id, service_account_id),
  CONSTRAINT controller_bindings_own_app FOREIGN KEY (app_id, project_id) REFERENCES apps (id, project_id),
  CONSTRAINT controller_bindings_own_account FOREIGN KEY (service_account_id, project_id)
    REFERENCES service_accounts (id, project_id) ON DELETE CASCADE,
  CONSTRAINT controller_bindings_own_project FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
CREATE INDEX controller_bindings_by_account ON controller_bindings (service_account_id, app_slug);
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
  PRIMARY KEY (id),
  CONSTRAINT controller_consents_withdrawn CHECK ((withdrawn_at IS NULL) = (withdrawn_by IS NULL)),
  FOREIGN KEY (tenant_id) REFERENCES tenants (id),
  FOREIGN KEY (app_id) REFERENCES apps (id)
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

-- Windows, for reading only. Who sees an app sees who serves it; a controller sees its own bindings, and the consents to them.
CREATE POLICY catalogue_window ON controller_bindings FOR SELECT USING (
  service_account_id = (SELECT current_setting('gpuaas.controller', true))
  OR EXISTS (SELECT 1 FROM apps a WHERE a.id = controller_bindings.app_id)
);
CREATE POLICY catalogue_window ON controller_replicas FOR SELECT USING (EXISTS (
  SELECT 1 FROM controller_bindings b
  WHERE b.service_account_id = controller_replicas.service_account_id AND b.app_slug = controller_replicas.app_slug)
);
CREATE POLICY controller_window ON controller_consents FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> '' AND EXISTS (
    SELECT 1 FROM controller_bindings b
    WHERE b.app_id = controller_consents.app_id
      AND b.service_account_id = (SELECT current_setting('gpuaas.controller', true)))
);

-- The second wall. A connection that acts for a controller in another tenant (gpuaas.controller names its service account)
-- sees and changes rows of the apps that the account is bound to, where the tenant's consent stands. So a consent that is
-- withdrawn ends everything with its commit, whatever a process has cached.
CREATE FUNCTION raise_controller_wall(guarded text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format(
    'CREATE POLICY controller_wall ON %1$I AS RESTRICTIVE USING ('
    '(SELECT coalesce(current_setting(''gpuaas.controller'', true), '''')) = '''' OR EXISTS ('
    'SELECT 1 FROM controller_consents c JOIN controller_bindings b ON b.app_id = c.app_id'
    ' WHERE c.tenant_id = %1$I.tenant_id AND c.app_slug = %1$I.app_slug AND c.withdrawn_at IS NULL'
    ' AND (c.project_ids IS NULL OR %1$I.project_id = ANY (c.project_ids))'
    ' AND b.service_account_id = (SELECT current_setting(''gpuaas.controller'', true))))', guarded);
END $$;

-- Hides a table from such a connection: nothing in it is a controller's business.
CREATE FUNCTION hide_from_controllers(guarded text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format(
    'CREATE POLICY controller_wall ON %I AS RESTRICTIVE USING ('
    '(SELECT coalesce(current_setting(''gpuaas.controller'', true), '''')) = '''')', guarded);
END $$;

SELECT raise_controller_wall('app_operations');
SELECT raise_controller_wall('app_instances');
-- What belongs to an instance is seen with it.
CREATE POLICY controller_wall ON app_members AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = app_members.instance_id));
CREATE POLICY controller_wall ON app_instance_events AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = app_instance_events.instance_id));
CREATE POLICY controller_wall ON teardown_receipts AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = teardown_receipts.instance_id));
CREATE POLICY controller_wall ON app_usage_records AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = app_usage_records.instance_id));
SELECT hide_from_controllers('users');
SELECT hide_from_controllers('role_bindings');
SELECT hide_from_controllers('browser_sessions');
SELECT hide_from_controllers('sessions');
SELECT hide_from_controllers('service_accounts');
SELECT hide_from_controllers('service_account_keys');
SELECT hide_from_controllers('service_account_certificates');
SELECT hide_from_controllers('ssh_keys');
SELECT hide_from_controllers('access_credentials');
SELECT hide_from_controllers('terminals');

-- Across tenants a controller only reads: what waits for it, and the instances that it serves. With a tenant in the scope
-- the tenant's own wall decides; the wall above holds in both cases.
CREATE POLICY controller_window ON app_operations FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> ''
  AND (SELECT coalesce(current_setting('gpuaas.tenant', true), '')) = '');
CREATE POLICY controller_window ON app_instances FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> ''
  AND (SELECT coalesce(current_setting('gpuaas.tenant', true), '')) = '');

-- Finds the tenants that wait for an app, and the oldest operations of each, without reading the others.
CREATE INDEX app_operations_offered ON app_operations (app_slug, tenant_id, id)
  WHERE status = 'pending' AND NOT deferred AND target <> 'bulk';
CREATE INDEX app_instances_served ON app_instances (app_slug, id) WHERE decommissioned_at IS NULL;
