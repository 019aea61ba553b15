-- Every instance serves its own project, also one that an api of the release before makes while it is replaced.
CREATE FUNCTION instance_comes_home() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by)
    SELECT NEW.id, NEW.project_id, NEW.tenant_id, p.slug, true, NEW.created_at, NEW.created_by
    FROM projects p WHERE p.id = NEW.project_id
    ON CONFLICT DO NOTHING;
  RETURN NULL;
END $$;
CREATE TRIGGER app_instances_come_home AFTER INSERT ON app_instances FOR EACH ROW EXECUTE FUNCTION instance_comes_home();

DO $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);  -- the rows of all tenants
  INSERT INTO instance_projects (instance_id, project_id, tenant_id, slug, home, since, added_by)
    SELECT i.id, i.project_id, i.tenant_id, p.slug, true, i.created_at, i.created_by
    FROM app_instances i JOIN projects p ON p.id = i.project_id
    ON CONFLICT DO NOTHING;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

CREATE INDEX app_usage_days_by_day ON app_usage_days (project_id, day);
CREATE INDEX node_resource_slots_out_of_use ON node_resource_slots (status, node_id)
  WHERE present AND status IN ('discovered', 'cleanup_blocked', 'disabled');
