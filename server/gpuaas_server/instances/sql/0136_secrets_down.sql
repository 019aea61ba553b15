ALTER TABLE app_instances DROP COLUMN secrets_due, DROP COLUMN secrets_exposed;
DROP POLICY controller_wall ON secrets;
ALTER TABLE secrets DROP COLUMN store_name;
DROP TABLE instance_secrets;
