ALTER TABLE allocations DROP COLUMN release_key_generation;
ALTER TABLE node_tasks DROP COLUMN reported_key_generation;
ALTER TABLE nodes DROP COLUMN source_networks;
ALTER TABLE nodes ADD COLUMN previous_public_key bytea;
ALTER TABLE nodes ADD COLUMN previous_key_until timestamptz;
DROP TABLE node_key_misuses;
DROP TABLE node_former_keys;
