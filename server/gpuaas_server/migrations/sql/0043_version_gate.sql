-- Instances by the versions that they could return to or were to change to, and by tenant: a revocation looks at these too.
CREATE INDEX app_instances_by_tenant ON app_instances (tenant_id, id) WHERE decommissioned_at IS NULL;
CREATE INDEX app_instances_by_previous_digest ON app_instances ((previous ->> 'digest'))
  WHERE decommissioned_at IS NULL AND previous IS NOT NULL;
CREATE INDEX app_instances_by_previous_version_id ON app_instances ((previous ->> 'version_id'))
  WHERE decommissioned_at IS NULL AND previous IS NOT NULL;
CREATE INDEX app_instances_by_attempted_digest ON app_instances ((attempted ->> 'digest'))
  WHERE decommissioned_at IS NULL AND attempted IS NOT NULL;
CREATE INDEX app_instances_by_attempted_version_id ON app_instances ((attempted ->> 'version_id'))
  WHERE decommissioned_at IS NULL AND attempted IS NOT NULL;

-- Somebody who has left knows the secrets that the members share; no rotation has been asked for since.
ALTER TABLE app_instances ADD COLUMN secrets_stale boolean NOT NULL DEFAULT false;

-- The leases of a controller that was unbound from an app.
CREATE INDEX app_operations_leased ON app_operations (controller_id) WHERE lease_digest IS NOT NULL;

-- What is pulled is the publisher's artifact. Another project's copy of the same bytes has a trust of its own.
DROP FUNCTION artifact_to_pull(text, text);
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
