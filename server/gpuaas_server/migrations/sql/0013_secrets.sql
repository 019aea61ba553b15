CREATE TABLE secret_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sek\_%'),
  backend TEXT NOT NULL,
  version INTEGER NOT NULL,
  sealed_key BYTEA,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  retired_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT secret_keys_backend CHECK (backend IN ('builtin', 'openbao')),
  CONSTRAINT secret_keys_one_per_version UNIQUE (backend, version),
  -- What is destroyed stays destroyed.
  CONSTRAINT secret_keys_destroyed CHECK (retired_at IS NULL OR sealed_key IS NULL)
);

CREATE TABLE secrets (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sec\_%'),
  version INTEGER NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  purpose TEXT NOT NULL,
  key_id TEXT COLLATE "C" NOT NULL REFERENCES secret_keys (id),
  wrapped_key BYTEA,
  sealed_value BYTEA,
  kept_in TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  destroyed_at TIMESTAMP WITH TIME ZONE,
  erased_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id, version),
  CONSTRAINT secrets_kept_in CHECK (kept_in IN ('builtin', 'openbao')),
  CONSTRAINT secrets_destroyed CHECK ((destroyed_at IS NULL) = (wrapped_key IS NOT NULL))
);
CREATE INDEX secrets_by_key ON secrets (key_id, id, version) WHERE destroyed_at IS NULL;
SELECT raise_tenant_wall('secrets');

CREATE TABLE access_credentials (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'crd\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  version INTEGER NOT NULL,
  generation BIGINT NOT NULL,
  secret_id TEXT COLLATE "C",
  public_key TEXT,
  fingerprint TEXT,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  rotated_at TIMESTAMP WITH TIME ZONE,
  revoked_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT access_credentials_kind CHECK (kind IN ('ssh_certificate', 'ssh_key')),
  -- Of a certificate nothing is stored; of a key the public side, and where the private one is kept.
  CONSTRAINT access_credentials_custody CHECK
    ((kind = 'ssh_key') = (secret_id IS NOT NULL AND public_key IS NOT NULL AND fingerprint IS NOT NULL))
);
CREATE INDEX access_credentials_by_project ON access_credentials (project_id, id);
CREATE UNIQUE INDEX access_credentials_one_per_name ON access_credentials (project_id, name) WHERE revoked_at IS NULL;
SELECT raise_tenant_wall('access_credentials');

CREATE TABLE credential_deliveries (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'dlv\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  credential_id TEXT COLLATE "C" NOT NULL REFERENCES access_credentials (id),
  version INTEGER NOT NULL,
  delivered_to TEXT COLLATE "C" NOT NULL,
  recipient_fingerprint TEXT NOT NULL,
  allocation_id TEXT COLLATE "C",
  serial BIGINT,
  correlation_id TEXT NOT NULL,
  delivered_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX credential_deliveries_by_credential ON credential_deliveries (credential_id, id);
CREATE TRIGGER credential_deliveries_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON credential_deliveries
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
SELECT raise_tenant_wall('credential_deliveries');

ALTER TABLE ssh_certificates ADD COLUMN access_credential_id TEXT COLLATE "C";
ALTER TABLE ssh_certificates ADD COLUMN operation_id TEXT COLLATE "C";
CREATE INDEX ssh_certificates_by_credential ON ssh_certificates (access_credential_id, valid_before)
  WHERE access_credential_id IS NOT NULL;
CREATE INDEX ssh_certificates_by_operation ON ssh_certificates (operation_id, valid_before)
  WHERE operation_id IS NOT NULL;
