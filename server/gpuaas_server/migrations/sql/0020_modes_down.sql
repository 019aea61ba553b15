ALTER TABLE app_instances DROP COLUMN mode;
