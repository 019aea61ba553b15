-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE idempotency_keys (
  owner_id TEXT COLLATE "C" NOT NULL,
  key TEXT COLLATE "C" NOT NULL,
  fingerprint BYTEA NOT NULL,
  status SMALLINT NOT NULL,
  body BYTEA NOT NULL,
  etag TEXT,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (owner_id, key)
);
CREATE INDEX idempotency_keys_expiry ON idempotency_keys (expires_at);
