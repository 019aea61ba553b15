-- A limit that is NULL is, of a tenant, the platform's default (a setting); of a project, none of its own.
ALTER TABLE quotas ADD COLUMN artifact_limit INTEGER;
ALTER TABLE quotas ADD COLUMN artifacts_used INTEGER DEFAULT '0' NOT NULL;
ALTER TABLE quotas ADD COLUMN artifact_byte_limit BIGINT;
ALTER TABLE quotas ADD COLUMN artifact_bytes_used BIGINT DEFAULT '0' NOT NULL;
ALTER TABLE quotas ADD COLUMN unproven_gpu_limit INTEGER;
ALTER TABLE quotas ADD COLUMN unproven_gpus INTEGER DEFAULT '0' NOT NULL;

-- What of the quotas an intent holds until it becomes an artifact or ends; an intent of the release before holds nothing.
ALTER TABLE publish_intents ADD COLUMN quota_held BOOLEAN DEFAULT 'false' NOT NULL;
ALTER TABLE publish_intents ADD COLUMN reserved_bytes BIGINT DEFAULT '0' NOT NULL;
-- The one upload that may write its bytes, until then at the latest; whoever writes renews it.
ALTER TABLE publish_intents ADD COLUMN upload_token TEXT;
ALTER TABLE publish_intents ADD COLUMN upload_until TIMESTAMP WITH TIME ZONE;
CREATE INDEX publish_intents_uploading ON publish_intents (tenant_id, project_id) WHERE upload_token IS NOT NULL;

-- An artifact whose bytes are being removed; the row goes last.
ALTER TABLE artifacts ADD COLUMN deleting_since TIMESTAMP WITH TIME ZONE;

SELECT set_config('gpuaas.platform', 'on', true);
WITH used AS (
  SELECT s.scope_id, a.tenant_id, count(*) AS artifacts, sum(a.size_bytes) AS bytes
  FROM artifacts a CROSS JOIN LATERAL (VALUES (a.tenant_id), (a.project_id)) AS s(scope_id) GROUP BY 1, 2
)
INSERT INTO quotas AS q (scope_id, tenant_id, artifacts_used, artifact_bytes_used)
SELECT scope_id, tenant_id, artifacts, bytes FROM used
ON CONFLICT (scope_id) DO UPDATE SET artifacts_used = EXCLUDED.artifacts_used,
  artifact_bytes_used = EXCLUDED.artifact_bytes_used;
WITH blocked AS (
  SELECT s.scope_id, sum(a.gpu_count) AS gpus
  FROM allocations a CROSS JOIN LATERAL (VALUES (a.tenant_id), (a.project_id)) AS s(scope_id)
  WHERE a.ended_at IS NULL AND NOT a.counted GROUP BY 1
)
UPDATE quotas q SET unproven_gpus = b.gpus FROM blocked b WHERE q.scope_id = b.scope_id;

ALTER TABLE quotas ADD CONSTRAINT quotas_none_negative
  CHECK (artifacts_used >= 0 AND artifact_bytes_used >= 0 AND unproven_gpus >= 0);

-- As take_quota() before it, which an api of the release before still calls; and it refuses a tenant that has too many GPUs
-- out of use because their clean-up is not proven.
CREATE FUNCTION take_gpu_quota(scopes text[], nouns text[], tenant text, gpus int, unproven_default int) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
  kept quotas;
  raised_by text;
  unproven_most int;
BEGIN
  FOR i IN 1 .. cardinality(scopes) LOOP
    INSERT INTO quotas AS q (scope_id, tenant_id, gpus_used) VALUES (scopes[i], tenant, gpus)
    ON CONFLICT (scope_id) DO UPDATE SET gpus_used = q.gpus_used + EXCLUDED.gpus_used
      WHERE (q.gpu_limit IS NULL OR q.gpus_used + EXCLUDED.gpus_used <= q.gpu_limit)
        AND (q.unproven_gpus = 0 OR q.unproven_gpus <
          coalesce(q.unproven_gpu_limit, CASE WHEN scopes[i] = tenant THEN unproven_default END, 2147483647));
    IF NOT FOUND THEN
      SELECT * INTO kept FROM quotas WHERE scope_id = scopes[i];
      raised_by := CASE WHEN scopes[i] = tenant THEN 'platform_admin' ELSE 'tenant_admin' END;
      IF kept.gpu_limit IS NOT NULL AND kept.gpus_used + gpus > kept.gpu_limit THEN
        RAISE EXCEPTION USING ERRCODE = 'GP001', MESSAGE = 'quota_exceeded',
          DETAIL = format('The %s''s quota is %s GPUs, %s are in use, and %s more were asked for.', nouns[i],
            kept.gpu_limit, kept.gpus_used, gpus),
          HINT = jsonb_build_object('quota', 'gpus', 'scope', nouns[i], 'scope_id', scopes[i], 'limit', kept.gpu_limit,
            'used', kept.gpus_used, 'gpu_limit', kept.gpu_limit, 'gpus_used', kept.gpus_used, 'wanted', gpus,
            'raised_by', raised_by)::text;
      END IF;
      unproven_most := coalesce(kept.unproven_gpu_limit, unproven_default);
      RAISE EXCEPTION USING ERRCODE = 'GP001', MESSAGE = 'unproven_releases',
        DETAIL = format('%s GPUs that the %s released are not proven clean; at %s nothing more is given to it.',
          kept.unproven_gpus, nouns[i], unproven_most),
        HINT = jsonb_build_object('quota', 'unproven_gpus', 'scope', nouns[i], 'scope_id', scopes[i],
          'limit', unproven_most, 'used', kept.unproven_gpus, 'wanted', gpus, 'raised_by', raised_by)::text;
    END IF;
  END LOOP;
END $$;

-- Count artifacts and bytes against the quotas of a project and its tenant, or nothing at all: then the answer says which
-- quota is in the way. Both rows are locked in one order, so that concurrent callers cannot overshoot a limit together.
CREATE FUNCTION take_artifact_quota(project text, tenant text, artifacts int, bytes bigint, artifact_default int,
  byte_default bigint) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  kept quotas;
  most bigint;
BEGIN
  INSERT INTO quotas (scope_id, tenant_id) VALUES (project, tenant), (tenant, tenant) ON CONFLICT DO NOTHING;
  PERFORM 1 FROM quotas WHERE scope_id = project FOR UPDATE;
  PERFORM 1 FROM quotas WHERE scope_id = tenant FOR UPDATE;
  FOR kept IN SELECT * FROM quotas WHERE scope_id IN (project, tenant) ORDER BY scope_id = tenant LOOP
    most := coalesce(kept.artifact_limit, CASE WHEN kept.scope_id = tenant THEN artifact_default END);
    IF artifacts > 0 AND kept.artifacts_used + artifacts > most THEN
      RETURN jsonb_build_object('quota', 'artifacts', 'scope_id', kept.scope_id, 'limit', most,
        'used', kept.artifacts_used, 'wanted', artifacts);
    END IF;
    most := coalesce(kept.artifact_byte_limit, CASE WHEN kept.scope_id = tenant THEN byte_default END);
    IF bytes > 0 AND kept.artifact_bytes_used + bytes > most THEN
      RETURN jsonb_build_object('quota', 'artifact_bytes', 'scope_id', kept.scope_id, 'limit', most,
        'used', kept.artifact_bytes_used, 'wanted', bytes);
    END IF;
  END LOOP;
  UPDATE quotas SET artifacts_used = artifacts_used + artifacts, artifact_bytes_used = artifact_bytes_used + bytes
    WHERE scope_id IN (project, tenant);
  RETURN NULL;
END $$;
