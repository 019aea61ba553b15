-- A draft on trial may be launched by its publishing project. The previous version of the platform refuses it, as every draft.
ALTER TABLE app_versions ADD COLUMN trial_since timestamptz;
