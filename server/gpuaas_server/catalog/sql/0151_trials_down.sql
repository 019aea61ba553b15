ALTER TABLE app_versions DROP COLUMN trial_since;
