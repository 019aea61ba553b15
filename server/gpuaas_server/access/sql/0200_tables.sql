-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

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
  CONSTRAINT access_credentials_custody
    CHECK ((kind = 'ssh_key') = (secret_id IS NOT NULL AND public_key IS NOT NULL AND fingerprint IS NOT NULL))
);
CREATE INDEX access_credentials_by_project ON access_credentials (project_id, id);
CREATE UNIQUE INDEX access_credentials_one_per_name ON access_credentials (project_id, name) WHERE revoked_at IS NULL;
SELECT raise_tenant_wall('access_credentials');

CREATE TABLE credential_deliveries (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'dlv\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  credential_id TEXT COLLATE "C" NOT NULL,
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
SELECT raise_tenant_wall('credential_deliveries');

CREATE TABLE ssh_certificates (
  serial BIGINT GENERATED ALWAYS AS IDENTITY,
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  key_id TEXT NOT NULL,
  issued_to TEXT COLLATE "C" NOT NULL,
  fingerprint TEXT NOT NULL,
  valid_before TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  access_credential_id TEXT COLLATE "C",
  operation_id TEXT COLLATE "C",
  PRIMARY KEY (serial)
);
CREATE INDEX ssh_certificates_by_allocation ON ssh_certificates (allocation_id, valid_before);
CREATE INDEX ssh_certificates_by_credential ON ssh_certificates (access_credential_id, valid_before)
  WHERE access_credential_id IS NOT NULL;
CREATE INDEX ssh_certificates_by_end ON ssh_certificates (valid_before);
CREATE INDEX ssh_certificates_by_holder ON ssh_certificates (issued_to, valid_before);
CREATE INDEX ssh_certificates_by_operation ON ssh_certificates (operation_id, valid_before)
  WHERE operation_id IS NOT NULL;
SELECT raise_tenant_wall('ssh_certificates');

CREATE TABLE ssh_grants (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'grt\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  allocation_id TEXT COLLATE "C" NOT NULL,
  granted_to TEXT COLLATE "C" NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  note TEXT,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id)
);
CREATE INDEX ssh_grants_by_allocation ON ssh_grants (allocation_id, id);
CREATE INDEX ssh_grants_by_holder ON ssh_grants (granted_to, expires_at);
SELECT raise_tenant_wall('ssh_grants');

CREATE TABLE ssh_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ssk\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  user_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  public_key TEXT NOT NULL,
  fingerprint TEXT NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT ssh_keys_one_per_fingerprint UNIQUE (user_id, fingerprint)
);
SELECT raise_tenant_wall('ssh_keys');
