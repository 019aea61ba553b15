-- Returns the size of an artifact that a controller pulls, so that a host can look for room first. NULL: not known.
CREATE FUNCTION artifact_size_to_pull(artifact_id text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
  before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
  found bigint;
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  SELECT a.size_bytes INTO found FROM artifacts a WHERE a.id = artifact_id;
  PERFORM set_config('gpuaas.platform', before, true);
  RETURN found;
END $$;
