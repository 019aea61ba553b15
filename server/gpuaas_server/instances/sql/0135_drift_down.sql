ALTER TABLE app_instances DROP COLUMN reconcile_policy, DROP COLUMN drift;
