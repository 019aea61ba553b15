DROP INDEX app_instances_by_tenant, app_instances_by_previous_digest, app_instances_by_previous_version_id,
  app_instances_by_attempted_digest, app_instances_by_attempted_version_id, app_operations_leased;
ALTER TABLE app_instances DROP COLUMN secrets_stale;
DROP FUNCTION artifact_to_pull(text, text);
CREATE FUNCTION artifact_to_pull(wanted text, puller text)
  RETURNS TABLE (id text, kind text, digest text, location text, trust text, trust_detail text) LANGUAGE plpgsql AS $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  RETURN QUERY
    SELECT a.id, a.kind, a.digest, a.location, a.trust, a.trust_detail FROM artifacts a WHERE a.digest = wanted
    ORDER BY a.project_id <> puller, a.id LIMIT 1;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;
