-- What a tenant may learn of another tenant's artifact.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

-- A tenant may launch an app whose artifact another tenant published. This tells what such a launch depends on, by digest,
-- and nothing else of the other tenant: no names, and no list of a project's artifacts.
CREATE FUNCTION artifact_facts(wanted text[], publisher text)
  RETURNS TABLE (digest text, tenant_id text, project_id text, stage text, trust text, signed_by text[],
    canary_percent smallint, has_credential boolean)
  LANGUAGE plpgsql AS $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  RETURN QUERY
    SELECT DISTINCT ON (a.digest) a.digest, a.tenant_id, a.project_id, a.stage, a.trust, a.signed_by, a.canary_percent,
      a.pull_secret_id IS NOT NULL
    FROM artifacts a WHERE a.digest = ANY (wanted) AND (publisher IS NULL OR a.project_id = publisher)
    ORDER BY a.digest, a.id;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

-- Returns the publisher's artifact, which a controller pulls. Another project's copy of the same bytes has a trust of its own.
CREATE FUNCTION artifact_to_pull(wanted text, publisher text)
  RETURNS TABLE (id text, kind text, digest text, location text, trust text, trust_detail text, tenant_id text,
    registry text, pull_secret_id text)
  LANGUAGE plpgsql AS $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  RETURN QUERY
    SELECT a.id, a.kind, a.digest, a.location, a.trust, a.trust_detail, a.tenant_id, a.registry, a.pull_secret_id
    FROM artifacts a WHERE a.digest = wanted AND a.project_id = publisher;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

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
