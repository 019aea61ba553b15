DROP TABLE app_versions;
DROP POLICY catalogue_window ON apps;
DROP TABLE entitlements;
DROP TABLE apps;
