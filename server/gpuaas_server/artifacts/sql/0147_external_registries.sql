-- Images in registries that are not the platform's own, with a credential in the secret store.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

ALTER TABLE artifacts ADD COLUMN registry TEXT, ADD COLUMN pull_secret_id TEXT COLLATE "C",
  ADD CONSTRAINT artifacts_pull_secret CHECK (registry IS NOT NULL OR pull_secret_id IS NULL);
ALTER TABLE publish_intents ADD COLUMN registry TEXT, ADD COLUMN repository TEXT, ADD COLUMN pull_secret_id TEXT COLLATE "C",
  ADD CONSTRAINT publish_intents_external CHECK ((registry IS NULL) = (repository IS NULL));

DROP FUNCTION artifact_facts(text[], text);
DROP FUNCTION artifact_to_pull(text, text);

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
