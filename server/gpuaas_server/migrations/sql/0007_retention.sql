CREATE INDEX node_tasks_finished ON node_tasks (reported_at) WHERE status <> 'pending';
CREATE INDEX ssh_certificates_by_end ON ssh_certificates (valid_before);
CREATE INDEX ssh_host_certificates_by_end ON ssh_host_certificates (valid_before);
CREATE INDEX enrolment_tokens_by_end ON enrolment_tokens (expires_at);
ALTER TABLE allocations ADD COLUMN history_removed_at TIMESTAMP WITH TIME ZONE;
CREATE INDEX allocations_with_old_history ON allocations (ended_at)
  WHERE ended_at IS NOT NULL AND history_removed_at IS NULL;

-- Audit rows are only ever added. The one exception is their retention: a transaction that says from when on it keeps
-- them (gpuaas.audit_kept_from, local to it) may delete rows that are older, and never one of the last 30 days.
CREATE FUNCTION refuse_audit_delete() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE kept_from CONSTANT timestamptz := nullif(current_setting('gpuaas.audit_kept_from', true), '')::timestamptz;
BEGIN
  IF kept_from IS NULL THEN
    RAISE EXCEPTION 'rows of % are only ever added', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
  ELSIF TG_LEVEL = 'ROW' AND OLD.at >= least(kept_from, now() - interval '30 days') THEN
    RAISE EXCEPTION 'this row of % is still kept', TG_TABLE_NAME USING ERRCODE = 'insufficient_privilege';
  END IF;
  RETURN OLD;
END $$;
DROP TRIGGER audit_records_append_only ON audit_records;
CREATE TRIGGER audit_records_append_only BEFORE UPDATE OR TRUNCATE ON audit_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_records_retention BEFORE DELETE ON audit_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_delete();
CREATE TRIGGER audit_records_kept BEFORE DELETE ON audit_records
  FOR EACH ROW EXECUTE FUNCTION refuse_audit_delete();

-- Whether the allocation still counts against the quotas. It stops when it ends, or when its release is blocked: then the
-- tenant has given it up, and what keeps it is the platform's.
ALTER TABLE allocations ADD COLUMN counted BOOLEAN DEFAULT 'true' NOT NULL;
SELECT set_config('gpuaas.platform', 'on', true);
WITH blocked AS (
  UPDATE allocations SET counted = false WHERE state = 'release_failed' AND ended_at IS NULL
  RETURNING tenant_id, project_id, gpu_count
), returned AS (
  SELECT scope_id, sum(gpu_count) AS gpus
  FROM blocked CROSS JOIN LATERAL (VALUES (tenant_id), (project_id)) AS s(scope_id) GROUP BY scope_id
)
UPDATE quotas q SET gpus_used = q.gpus_used - r.gpus FROM returned r WHERE q.scope_id = r.scope_id;
