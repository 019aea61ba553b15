-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE secret_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sek\_%'),
  backend TEXT NOT NULL,
  version INTEGER NOT NULL,
  sealed_key BYTEA,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  retired_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT secret_keys_backend CHECK (backend IN ('builtin', 'openbao')),
  CONSTRAINT secret_keys_destroyed CHECK (retired_at IS NULL OR sealed_key IS NULL),
  CONSTRAINT secret_keys_one_per_version UNIQUE (backend, version)
);

CREATE TABLE platform_private_keys (
  id TEXT COLLATE "C" NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  wrapped_key BYTEA NOT NULL,
  sealed_value BYTEA NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  FOREIGN KEY (key_id) REFERENCES secret_keys (id)
);
CREATE INDEX platform_private_keys_by_key ON platform_private_keys (key_id, id);

CREATE TABLE secrets (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sec\_%'),
  version INTEGER NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  purpose TEXT NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL,
  wrapped_key BYTEA,
  sealed_value BYTEA,
  kept_in TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  destroyed_at TIMESTAMP WITH TIME ZONE,
  erased_at TIMESTAMP WITH TIME ZONE,
  store_name TEXT,
  PRIMARY KEY (id, version),
  CONSTRAINT secrets_kept_in CHECK (kept_in IN ('builtin', 'openbao')),
  CONSTRAINT secrets_destroyed CHECK ((destroyed_at IS NULL) = (wrapped_key IS NOT NULL)),
  FOREIGN KEY (key_id) REFERENCES secret_keys (id)
);
CREATE INDEX secrets_by_key ON secrets (key_id, id, version) WHERE destroyed_at IS NULL;
CREATE INDEX secrets_by_project ON secrets (project_id, id, version);
SELECT raise_tenant_wall('secrets');
