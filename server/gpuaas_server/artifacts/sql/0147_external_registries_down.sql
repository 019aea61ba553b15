DROP FUNCTION artifact_facts(text[], text);
DROP FUNCTION artifact_to_pull(text, text);

CREATE FUNCTION artifact_facts(wanted text[], publisher text)
  RETURNS TABLE (digest text, tenant_id text, project_id text, stage text, trust text, signed_by text[], canary_percent smallint)
  LANGUAGE plpgsql AS $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  RETURN QUERY
    SELECT DISTINCT ON (a.digest) a.digest, a.tenant_id, a.project_id, a.stage, a.trust, a.signed_by, a.canary_percent
    FROM artifacts a WHERE a.digest = ANY (wanted) AND (publisher IS NULL OR a.project_id = publisher)
    ORDER BY a.digest, a.id;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

CREATE FUNCTION artifact_to_pull(wanted text, publisher text)
  RETURNS TABLE (id text, kind text, digest text, location text, trust text, trust_detail text) LANGUAGE plpgsql AS $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);
  RETURN QUERY
    SELECT a.id, a.kind, a.digest, a.location, a.trust, a.trust_detail FROM artifacts a
    WHERE a.digest = wanted AND a.project_id = publisher;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

ALTER TABLE publish_intents DROP CONSTRAINT publish_intents_external, DROP COLUMN registry, DROP COLUMN repository,
  DROP COLUMN pull_secret_id;
ALTER TABLE artifacts DROP CONSTRAINT artifacts_pull_secret, DROP COLUMN registry, DROP COLUMN pull_secret_id;
