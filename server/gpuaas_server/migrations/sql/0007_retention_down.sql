SELECT set_config('gpuaas.platform', 'on', true);
WITH blocked AS (
  SELECT tenant_id, project_id, gpu_count FROM allocations WHERE NOT counted AND ended_at IS NULL
), taken AS (
  SELECT scope_id, sum(gpu_count) AS gpus
  FROM blocked CROSS JOIN LATERAL (VALUES (tenant_id), (project_id)) AS s(scope_id) GROUP BY scope_id
)
UPDATE quotas q SET gpus_used = q.gpus_used + t.gpus FROM taken t WHERE q.scope_id = t.scope_id;
ALTER TABLE allocations DROP COLUMN counted;

DROP TRIGGER audit_records_kept ON audit_records;
DROP TRIGGER audit_records_retention ON audit_records;
DROP TRIGGER audit_records_append_only ON audit_records;
CREATE TRIGGER audit_records_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_records
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
DROP FUNCTION refuse_audit_delete();

DROP INDEX allocations_with_old_history;
ALTER TABLE allocations DROP COLUMN history_removed_at;
DROP INDEX enrolment_tokens_by_end;
DROP INDEX ssh_host_certificates_by_end;
DROP INDEX ssh_certificates_by_end;
DROP INDEX node_tasks_finished;
