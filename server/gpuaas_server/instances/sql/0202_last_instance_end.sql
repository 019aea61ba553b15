CREATE INDEX app_instances_ended_by_digest ON app_instances (digest, decommissioned_at)
  WHERE decommissioned_at IS NOT NULL;
CREATE INDEX app_instances_ended_by_version ON app_instances (version_id, decommissioned_at)
  WHERE decommissioned_at IS NOT NULL;

-- Tells when the last instance ended that ran some bytes, or a version, of all tenants. The grace period of an artifact that
-- nobody uses any more begins then; its publisher learns nothing else.
CREATE FUNCTION last_instance_end(wanted_digest text, wanted_version text) RETURNS timestamptz LANGUAGE plpgsql AS $$
DECLARE
  before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
  ended timestamptz;
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  IF wanted_digest IS NOT NULL THEN
    SELECT max(decommissioned_at) INTO ended FROM app_instances
      WHERE digest = wanted_digest AND decommissioned_at IS NOT NULL;
  ELSE
    SELECT max(decommissioned_at) INTO ended FROM app_instances
      WHERE version_id = wanted_version AND decommissioned_at IS NOT NULL;
  END IF;
  PERFORM set_config('gpuaas.platform', before, true);
  RETURN ended;
END $$;
