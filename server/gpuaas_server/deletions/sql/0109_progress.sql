-- How far a deletion is, and what it waits for: see tables.py.
ALTER TABLE deletions
  ADD COLUMN progressed_at TIMESTAMP WITH TIME ZONE,
  ADD COLUMN waits_for TEXT,
  ADD COLUMN waits_count INTEGER,
  ADD COLUMN waits_detail TEXT,
  ADD CONSTRAINT deletions_waits_for CHECK (waits_for IN ('leftovers', 'artifacts', 'secrets')),
  ADD CONSTRAINT deletions_waits
    CHECK ((waits_for IS NULL) = (waits_count IS NULL) AND (waits_for IS NULL) = (waits_detail IS NULL));
