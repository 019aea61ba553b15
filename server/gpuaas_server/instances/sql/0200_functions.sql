-- Functions, triggers, and walls of instances for controllers.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- Counts the instances that run some bytes, or a version, of all tenants. A publisher must know the number before it retires
-- them, and learns nothing else.
CREATE FUNCTION live_instances(wanted_digest text, wanted_version text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
  live bigint;
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  IF wanted_digest IS NOT NULL THEN
    SELECT count(*) INTO live FROM app_instances WHERE digest = wanted_digest AND decommissioned_at IS NULL;
  ELSE
    SELECT count(*) INTO live FROM app_instances WHERE version_id = wanted_version AND decommissioned_at IS NULL;
  END IF;
  PERFORM set_config('gpuaas.platform', before, true);
  RETURN live;
END $$;

-- Every instance serves its own project: the row that says so is written with the instance.
CREATE FUNCTION instance_comes_home() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by)
    SELECT NEW.id, NEW.project_id, NEW.tenant_id, p.slug, true, NEW.created_at, NEW.created_by
    FROM projects p WHERE p.id = NEW.project_id
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER app_instances_come_home AFTER INSERT ON app_instances
  FOR EACH ROW EXECUTE FUNCTION instance_comes_home();

-- A controller sees the instances that it serves, also across tenants, and what belongs to an instance with it.
SELECT raise_controller_wall('app_instances');
CREATE POLICY controller_window ON app_instances FOR SELECT USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) <> ''
  AND (SELECT coalesce(current_setting('gpuaas.tenant', true), '')) = '');
CREATE POLICY controller_wall ON app_members AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = app_members.instance_id));
CREATE POLICY controller_wall ON app_instance_events AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = app_instance_events.instance_id));
CREATE POLICY controller_wall ON teardown_receipts AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = teardown_receipts.instance_id));
-- A controller sees the secrets of the instances that it sees, and of the sealed values those of these secrets. It keeps a
-- value before the secret names it, so what it inserts is not looked at here.
CREATE POLICY controller_wall ON instance_secrets AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = instance_secrets.instance_id));
CREATE POLICY controller_wall ON secrets AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM instance_secrets s WHERE s.secret_id = secrets.id)) WITH CHECK (true);
