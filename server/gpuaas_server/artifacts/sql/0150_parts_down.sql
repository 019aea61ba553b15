ALTER TABLE publish_intents DROP COLUMN parts_name, DROP COLUMN part_bytes;
