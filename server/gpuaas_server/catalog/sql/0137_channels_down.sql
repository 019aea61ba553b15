DROP TABLE app_channels;
DROP INDEX app_versions_one_canary;
UPDATE app_versions SET status = 'draft' WHERE status = 'canary';
ALTER TABLE app_versions
  DROP CONSTRAINT app_versions_canary,
  DROP CONSTRAINT app_versions_status,
  DROP COLUMN canary_percent,
  ADD CONSTRAINT app_versions_status CHECK (status IN ('draft', 'active', 'deprecated', 'retired'));
ALTER TABLE apps DROP COLUMN stable_version_id, DROP COLUMN previous_version_id;
