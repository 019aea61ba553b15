ALTER TABLE quotas ADD COLUMN stream_limit INTEGER;
