ALTER TABLE app_instances DROP COLUMN secrets_due, DROP COLUMN secrets_exposed;
DROP POLICY controller_wall ON secrets;
DROP TABLE instance_secrets;
