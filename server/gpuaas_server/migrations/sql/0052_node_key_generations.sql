-- Keys that a node had before: dead, but known, so that their use is recognised and told.
CREATE TABLE node_former_keys (
    node_id text COLLATE "C" NOT NULL REFERENCES nodes (id),
    key_generation integer NOT NULL,
    public_key bytea NOT NULL,
    ended_at timestamptz NOT NULL,
    CONSTRAINT node_former_keys_pkey PRIMARY KEY (node_id, key_generation)
);
CREATE INDEX node_former_keys_by_key ON node_former_keys (public_key);
INSERT INTO node_former_keys (node_id, key_generation, public_key, ended_at)
SELECT id, key_generation - 1, previous_public_key, now() FROM nodes WHERE previous_public_key IS NOT NULL;
ALTER TABLE nodes DROP COLUMN previous_public_key;
ALTER TABLE nodes DROP COLUMN previous_key_until;

-- What was done with a key in vain: once for each key and kind of call, so that nobody fills the table.
CREATE TABLE node_key_misuses (
    node_id text COLLATE "C" NOT NULL REFERENCES nodes (id),
    key_generation integer NOT NULL,
    action text NOT NULL,
    code text NOT NULL,
    address text NOT NULL,
    seen_at timestamptz NOT NULL,
    CONSTRAINT node_key_misuses_pkey PRIMARY KEY (node_id, key_generation, action, code)
);

-- From where the node's key is taken. Null: not recorded yet.
ALTER TABLE nodes ADD COLUMN source_networks text[];
-- Which key signed the result of a task, and which one the node had when the release of an allocation began.
ALTER TABLE node_tasks ADD COLUMN reported_key_generation integer;
ALTER TABLE allocations ADD COLUMN release_key_generation integer;
