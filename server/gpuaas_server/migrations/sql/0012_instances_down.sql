DROP FUNCTION live_instances(text, text);
DROP TABLE app_instance_events;
DROP TABLE app_operations;
DROP TABLE app_members;
DROP TABLE app_instances;
ALTER TABLE allocations DROP COLUMN release_reason;
ALTER TABLE allocations DROP COLUMN release_by;
ALTER TABLE service_accounts DROP COLUMN app_slugs;
