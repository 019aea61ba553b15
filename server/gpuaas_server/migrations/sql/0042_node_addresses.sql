-- An address belongs to one node: the primary key decides, also between two calls at the same moment.
CREATE TABLE node_addresses (
    address text NOT NULL,
    node_id text COLLATE "C" NOT NULL REFERENCES nodes (id),
    kind text NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT node_addresses_pkey PRIMARY KEY (address),
    CONSTRAINT node_addresses_kind CHECK (kind IN ('host', 'slice'))
);
CREATE INDEX node_addresses_by_node ON node_addresses (node_id);
-- Null: its agent is of an older release and has never said which addresses its slices have.
ALTER TABLE nodes ADD COLUMN slice_addresses text[];

SELECT set_config('gpuaas.platform', 'on', true);  -- the rows of all tenants
-- Of two nodes that go by one address the older one keeps it.
INSERT INTO node_addresses (address, node_id, kind, created_at)
SELECT lower(address), id, 'host', created_at FROM nodes WHERE retired_at IS NULL ORDER BY id
ON CONFLICT DO NOTHING;
INSERT INTO node_addresses (address, node_id, kind, created_at)
SELECT lower(a.ssh_address), a.node_id, 'slice', a.created_at FROM allocations a JOIN nodes n ON n.id = a.node_id
WHERE a.ended_at IS NULL AND a.ssh_address ~ '^[0-9A-Fa-f.:]+$' AND n.retired_at IS NULL ORDER BY a.id
ON CONFLICT DO NOTHING;
SELECT set_config('gpuaas.platform', '', true);
