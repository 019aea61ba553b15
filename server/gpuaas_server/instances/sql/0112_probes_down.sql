ALTER TABLE app_members DROP COLUMN watch, DROP COLUMN probe_report;
