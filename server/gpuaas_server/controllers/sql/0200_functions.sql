-- What a controller sees beyond its own tenant; the tables of higher nouns say it beside their own tables.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- Windows, for reading only. Who sees an app sees who serves it; a controller sees its own bindings, and the consents to them.
CREATE POLICY catalogue_window ON controller_bindings FOR SELECT USING (
  service_account_id = (SELECT current_setting('gpuaas.controller', true))
  OR EXISTS (SELECT 1 FROM apps a WHERE a.id = controller_bindings.app_id)
);
CREATE POLICY catalogue_window ON controller_replicas FOR SELECT USING (EXISTS (
  SELECT 1 FROM controller_bindings b
  WHERE b.service_account_id = controller_replicas.service_account_id AND b.app_slug = controller_replicas.app_slug)
);
-- A consent holds for whom it was given to. Where only the platform's controller of the kind served the app, it reaches no
-- controller that the publisher binds later: the tenant is asked again.
CREATE POLICY controller_window ON controller_consents FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> '' AND EXISTS (
    SELECT 1 FROM controller_bindings b
    WHERE b.app_id = controller_consents.app_id
      AND (NOT controller_consents.to_platform OR b.kind_binding_id IS NOT NULL)
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
    ' AND (NOT c.to_platform OR b.kind_binding_id IS NOT NULL)'
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
SELECT hide_from_controllers('users');
SELECT hide_from_controllers('role_bindings');
SELECT hide_from_controllers('browser_sessions');
SELECT hide_from_controllers('sessions');
SELECT hide_from_controllers('service_accounts');
SELECT hide_from_controllers('service_account_keys');
SELECT hide_from_controllers('service_account_certificates');
SELECT hide_from_controllers('ssh_keys');
SELECT hide_from_controllers('access_credentials');

-- Across tenants a controller only reads: what waits for it, and, as the SQL of instances says, the instances that it serves.
-- With a tenant in the scope the tenant's own wall decides; the wall above holds in both cases.
CREATE POLICY controller_window ON app_operations FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> ''
  AND (SELECT coalesce(current_setting('gpuaas.tenant', true), '')) = '');
