ALTER TABLE quotas DROP COLUMN stream_limit;
