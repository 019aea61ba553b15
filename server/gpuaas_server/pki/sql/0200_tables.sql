-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE platform_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'pky\_%'),
  kind TEXT NOT NULL,
  sealed_private_key BYTEA,
  public_key TEXT NOT NULL,
  certificate TEXT,
  signs_from TIMESTAMP WITH TIME ZONE NOT NULL,
  retired_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT platform_keys_kind
    CHECK (kind IN ('task_signing', 'ssh_user_ca', 'ssh_host_ca', 'tls_ca', 'client_ca', 'registry_token'))
);
CREATE INDEX platform_keys_by_kind ON platform_keys (kind, id);
