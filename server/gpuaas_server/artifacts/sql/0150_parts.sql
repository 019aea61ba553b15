-- A large blob is sent in parts; the store has a name for such an upload.
-- Frozen: a later change is a later revision, with a file of its own beside this one.
ALTER TABLE publish_intents ADD COLUMN part_bytes BIGINT, ADD COLUMN parts_name TEXT;
