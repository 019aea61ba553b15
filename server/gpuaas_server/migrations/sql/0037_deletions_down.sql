DROP INDEX secrets_by_project;
DROP INDEX instance_projects_by_project;
-- Not valid: records of what was purged have nothing to refer to any more.
ALTER TABLE credential_deliveries ADD CONSTRAINT credential_deliveries_credential_id_fkey
  FOREIGN KEY (credential_id) REFERENCES access_credentials (id) NOT VALID;
ALTER TABLE app_usage_records ADD CONSTRAINT app_usage_records_served
  FOREIGN KEY (instance_id, project_id) REFERENCES instance_projects (instance_id, project_id) NOT VALID;
ALTER TABLE allocations DROP COLUMN purged_at;
DROP TABLE deletions;
ALTER TABLE projects DROP COLUMN delete_after;
ALTER TABLE tenants DROP COLUMN delete_after;
