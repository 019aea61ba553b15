ALTER TABLE app_instances DROP COLUMN secrets_due, DROP COLUMN secrets_exposed;
DROP TABLE instance_secrets;
