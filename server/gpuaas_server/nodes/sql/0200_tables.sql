-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE agent_listeners (
  process TEXT NOT NULL,
  listening_since TIMESTAMP WITH TIME ZONE NOT NULL,
  flushed_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (process)
);

CREATE TABLE agent_nonces (
  node_id TEXT COLLATE "C" NOT NULL,
  nonce BYTEA NOT NULL,
  seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (node_id, nonce)
);
CREATE INDEX agent_nonces_by_time ON agent_nonces (seen_at);

CREATE TABLE enrolment_tokens (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ent\_%'),
  token_sha256 BYTEA NOT NULL,
  note TEXT,
  max_uses INTEGER NOT NULL,
  uses INTEGER DEFAULT '0' NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT enrolment_tokens_uses CHECK (uses <= max_uses),
  UNIQUE (token_sha256)
);
CREATE INDEX enrolment_tokens_by_end ON enrolment_tokens (expires_at);

CREATE TABLE nodes (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'nod\_%'),
  name TEXT NOT NULL,
  hostname TEXT NOT NULL,
  address TEXT NOT NULL,
  public_key BYTEA NOT NULL,
  ssh_host_public_key TEXT NOT NULL,
  agent_version TEXT NOT NULL,
  boot_id TEXT,
  cordoned BOOLEAN DEFAULT 'false' NOT NULL,
  draining BOOLEAN DEFAULT 'false' NOT NULL,
  maintenance_reason TEXT,
  maintenance_since TIMESTAMP WITH TIME ZONE,
  maintenance_by TEXT COLLATE "C",
  lost_since TIMESTAMP WITH TIME ZONE,
  retired_at TIMESTAMP WITH TIME ZONE,
  inventory JSONB DEFAULT '{}' NOT NULL,
  inventory_digest BYTEA,
  labels JSONB DEFAULT '{}' NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  key_generation INTEGER DEFAULT '1' NOT NULL,
  key_expires_at TIMESTAMP WITH TIME ZONE,
  tls_anchors TEXT[],
  slice_addresses TEXT[],
  configuration TEXT,
  agent_sha256 TEXT,
  erase_drives BOOLEAN DEFAULT 'true' NOT NULL,
  facts_frozen BOOLEAN DEFAULT 'false' NOT NULL,
  differing_claim TEXT,
  source_networks TEXT[],
  PRIMARY KEY (id),
  UNIQUE (public_key)
);
CREATE INDEX nodes_by_key_expiry ON nodes (key_expires_at) WHERE retired_at IS NULL;
CREATE UNIQUE INDEX nodes_name ON nodes (name) WHERE retired_at IS NULL;

CREATE TABLE enrolment_uses (
  token_id TEXT COLLATE "C" NOT NULL,
  public_key BYTEA NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  used_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (token_id, public_key),
  FOREIGN KEY (token_id) REFERENCES enrolment_tokens (id),
  FOREIGN KEY (node_id) REFERENCES nodes (id)
);

CREATE TABLE maintenance_windows (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'mtw\_%'),
  node_id TEXT COLLATE "C" NOT NULL,
  state TEXT DEFAULT 'planned' NOT NULL,
  starts_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
  reason TEXT NOT NULL,
  cordoned_at TIMESTAMP WITH TIME ZONE,
  planned_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  started_at TIMESTAMP WITH TIME ZONE,
  finished_at TIMESTAMP WITH TIME ZONE,
  finished_by TEXT COLLATE "C",
  finished_reason TEXT,
  PRIMARY KEY (id),
  CONSTRAINT maintenance_windows_state CHECK (state IN ('planned', 'active', 'ended', 'cancelled')),
  CONSTRAINT maintenance_windows_span CHECK (starts_at < ends_at),
  FOREIGN KEY (node_id) REFERENCES nodes (id)
);
CREATE INDEX maintenance_windows_by_node ON maintenance_windows (node_id, id);
CREATE UNIQUE INDEX maintenance_windows_live ON maintenance_windows (node_id)
  WHERE state = 'planned' OR state = 'active';

CREATE TABLE node_addresses (
  address TEXT NOT NULL,
  node_id TEXT COLLATE "C" NOT NULL,
  kind TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (address),
  CONSTRAINT node_addresses_kind CHECK (kind IN ('host', 'slice')),
  FOREIGN KEY (node_id) REFERENCES nodes (id)
);
CREATE INDEX node_addresses_by_node ON node_addresses (node_id);

CREATE TABLE node_former_keys (
  node_id TEXT COLLATE "C" NOT NULL,
  key_generation INTEGER NOT NULL,
  public_key BYTEA NOT NULL,
  ended_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (node_id, key_generation),
  FOREIGN KEY (node_id) REFERENCES nodes (id)
);
CREATE INDEX node_former_keys_by_key ON node_former_keys (public_key);

CREATE TABLE node_heartbeats (
  node_id TEXT COLLATE "C" NOT NULL,
  last_seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (node_id),
  FOREIGN KEY (node_id) REFERENCES nodes (id)
) WITH (fillfactor = 50);

CREATE TABLE node_key_misuses (
  node_id TEXT COLLATE "C" NOT NULL,
  key_generation INTEGER NOT NULL,
  action TEXT NOT NULL,
  code TEXT NOT NULL,
  address TEXT NOT NULL,
  seen_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (node_id, key_generation, action, code),
  FOREIGN KEY (node_id) REFERENCES nodes (id)
);

CREATE TABLE ssh_host_certificates (
  serial BIGINT GENERATED ALWAYS AS IDENTITY,
  node_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C",
  address TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  valid_before TIMESTAMP WITH TIME ZONE NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (serial)
);
CREATE INDEX ssh_host_certificates_by_end ON ssh_host_certificates (valid_before);
CREATE INDEX ssh_host_certificates_by_node ON ssh_host_certificates (node_id, serial);

-- Tasks are for nodes that are there.
ALTER TABLE node_tasks ADD FOREIGN KEY (node_id) REFERENCES nodes (id);
