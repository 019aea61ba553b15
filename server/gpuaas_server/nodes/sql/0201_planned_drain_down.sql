ALTER TABLE nodes DROP COLUMN drain_at;
