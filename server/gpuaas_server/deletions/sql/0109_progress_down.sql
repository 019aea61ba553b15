ALTER TABLE deletions
  DROP CONSTRAINT deletions_waits,
  DROP CONSTRAINT deletions_waits_for,
  DROP COLUMN waits_detail,
  DROP COLUMN waits_count,
  DROP COLUMN waits_for,
  DROP COLUMN progressed_at;
