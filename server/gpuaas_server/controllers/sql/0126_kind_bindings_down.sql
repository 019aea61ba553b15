SELECT set_config('gpuaas.platform', 'on', true); -- the tenant wall holds for the tables' owner too
-- Before this revision a consent could not say whom it was given to: one that was the platform's alone would become the publisher's.
UPDATE controller_consents SET withdrawn_by = given_by, withdrawn_at = now(),
  withdrawn_reason = 'It was given to the platform''s controller, which is no more.'
  WHERE to_platform AND withdrawn_at IS NULL;
-- The policies as 0110 made them.
DROP POLICY controller_window ON controller_consents;
CREATE POLICY controller_window ON controller_consents FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> '' AND EXISTS (
    SELECT 1 FROM controller_bindings b
    WHERE b.app_id = controller_consents.app_id
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
    ' AND b.service_account_id = (SELECT current_setting(''gpuaas.controller'', true))))', guarded);
END $$;
DROP POLICY controller_wall ON app_operations;
SELECT raise_controller_wall('app_operations');
DROP POLICY controller_wall ON app_instances;
SELECT raise_controller_wall('app_instances');
ALTER TABLE controller_consents DROP COLUMN to_platform;
DROP INDEX app_versions_by_kind;
ALTER TABLE controller_consents DROP CONSTRAINT controller_consents_given_with, DROP COLUMN given_with;
DELETE FROM controller_bindings WHERE kind_binding_id IS NOT NULL;
DROP INDEX controller_bindings_by_kind_binding;
ALTER TABLE controller_bindings
  DROP CONSTRAINT controller_bindings_kind_binding,
  DROP CONSTRAINT controller_bindings_app,
  DROP CONSTRAINT controller_bindings_own_app,
  DROP COLUMN own_project_id,
  DROP COLUMN kind_binding_id,
  ADD CONSTRAINT controller_bindings_own_app FOREIGN KEY (app_id, project_id) REFERENCES apps (id, project_id);
DROP TABLE controller_kind_bindings;
