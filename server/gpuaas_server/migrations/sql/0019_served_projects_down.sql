DROP TABLE app_usage_days;
DROP TABLE app_usage_records;
DROP INDEX teardown_receipts_elsewhere;
ALTER TABLE teardown_receipts DROP COLUMN instance_project_id;
ALTER TABLE app_members DROP COLUMN place_project_id;
DROP TABLE instance_projects;
