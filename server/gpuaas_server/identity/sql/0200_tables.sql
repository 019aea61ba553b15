-- Tables, constraints, indexes and walls, as the first revision creates them; tables.py says what the columns mean.
-- Frozen: a later change is a later revision, with a file of its own beside this one.

CREATE TABLE login_failures (
  username_digest BYTEA NOT NULL,
  failures INTEGER NOT NULL,
  last_failure_at TIMESTAMP WITH TIME ZONE NOT NULL,
  locked_until TIMESTAMP WITH TIME ZONE,
  network TEXT COLLATE "C" NOT NULL,
  PRIMARY KEY (username_digest, network)
);
CREATE INDEX login_failures_by_time ON login_failures (last_failure_at);

CREATE TABLE login_networks (
  username_digest BYTEA NOT NULL,
  network TEXT COLLATE "C" NOT NULL,
  last_sign_in_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (username_digest, network)
);

CREATE TABLE login_rates (
  address TEXT NOT NULL,
  minute TIMESTAMP WITH TIME ZONE NOT NULL,
  attempts INTEGER NOT NULL,
  PRIMARY KEY (address, minute)
);
CREATE INDEX login_rates_by_minute ON login_rates (minute);

CREATE TABLE signing_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sgk\_%'),
  public_key BYTEA NOT NULL,
  sealed_private_key BYTEA,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  verifies_until TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id)
);

CREATE TABLE users (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'usr\_%'),
  tenant_id TEXT COLLATE "C",
  email TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  password_hash TEXT NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  auth_epoch INTEGER DEFAULT '1' NOT NULL,
  last_sign_in_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  deleted_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT users_one_per_email UNIQUE (email),
  CONSTRAINT users_with_tenant UNIQUE (id, tenant_id),
  CONSTRAINT users_email_lower CHECK (email = lower(email))
);
CREATE INDEX users_by_tenant ON users (tenant_id, id);
SELECT raise_tenant_wall('users');

CREATE TABLE browser_sessions (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'bws\_%'),
  user_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C",
  auth_epoch INTEGER NOT NULL,
  secret_digest BYTEA NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_used_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  ends_at TIMESTAMP WITH TIME ZONE NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT browser_sessions_one_per_secret UNIQUE (secret_digest),
  CONSTRAINT browser_sessions_end_in_time CHECK (expires_at <= ends_at),
  FOREIGN KEY (user_id) REFERENCES users (id)
);
CREATE INDEX browser_sessions_by_end ON browser_sessions (expires_at);
CREATE INDEX browser_sessions_by_user ON browser_sessions (user_id, id);
SELECT raise_tenant_wall('browser_sessions');

CREATE TABLE role_bindings (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'rbd\_%'),
  user_id TEXT COLLATE "C" NOT NULL,
  role TEXT NOT NULL,
  tenant_id TEXT COLLATE "C",
  project_id TEXT COLLATE "C",
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT role_bindings_own_tenant FOREIGN KEY (user_id, tenant_id) REFERENCES users (id, tenant_id),
  CONSTRAINT role_bindings_one_per_place UNIQUE NULLS NOT DISTINCT (user_id, tenant_id, project_id),
  CONSTRAINT role_bindings_role_fits_place
    CHECK (CASE role
      WHEN 'platform_admin' THEN tenant_id IS NULL AND project_id IS NULL
      WHEN 'platform_operator' THEN tenant_id IS NULL AND project_id IS NULL
      WHEN 'tenant_admin' THEN tenant_id IS NOT NULL AND project_id IS NULL
      WHEN 'project_admin' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL
      WHEN 'project_member' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL
      WHEN 'project_viewer' THEN tenant_id IS NOT NULL AND project_id IS NOT NULL
      ELSE false END),
  FOREIGN KEY (user_id) REFERENCES users (id)
);
CREATE INDEX role_bindings_by_project ON role_bindings (project_id, user_id);
CREATE INDEX role_bindings_by_tenant ON role_bindings (tenant_id, role);
SELECT raise_tenant_wall('role_bindings');

CREATE TABLE service_accounts (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sva\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  name TEXT NOT NULL,
  scopes TEXT[] NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  generation BIGINT DEFAULT '1' NOT NULL,
  app_slugs TEXT[] DEFAULT '{}' NOT NULL,
  certificate_required BOOLEAN DEFAULT 'false' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT service_accounts_one_per_name UNIQUE (project_id, name),
  CONSTRAINT service_accounts_with_tenant UNIQUE (id, tenant_id),
  CONSTRAINT service_accounts_with_project UNIQUE (id, project_id)
);
SELECT raise_tenant_wall('service_accounts');

CREATE TABLE sessions (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'ses\_%'),
  user_id TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C",
  auth_epoch INTEGER NOT NULL,
  family_digest BYTEA NOT NULL,
  token_digest BYTEA NOT NULL,
  previous_digest BYTEA,
  rotated_at TIMESTAMP WITH TIME ZONE NOT NULL,
  retried BOOLEAN DEFAULT 'false' NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_used_at TIMESTAMP WITH TIME ZONE NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  revoked_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT sessions_one_per_family UNIQUE (family_digest),
  FOREIGN KEY (user_id) REFERENCES users (id)
);
CREATE INDEX sessions_by_end ON sessions (expires_at);
CREATE INDEX sessions_by_user ON sessions (user_id, id);
SELECT raise_tenant_wall('sessions');

CREATE TABLE service_account_certificates (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'sac\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  service_account_id TEXT COLLATE "C" NOT NULL,
  thumbprint TEXT COLLATE "C" NOT NULL,
  authority_id TEXT COLLATE "C" NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE NOT NULL,
  created_by TEXT COLLATE "C" NOT NULL,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  last_used_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (id),
  CONSTRAINT service_account_certificates_own_account FOREIGN KEY (service_account_id, tenant_id)
    REFERENCES service_accounts (id, tenant_id),
  CONSTRAINT service_account_certificates_one_per_thumbprint UNIQUE (thumbprint)
);
CREATE INDEX service_account_certificates_by_account ON service_account_certificates (service_account_id, id);
CREATE INDEX service_account_certificates_by_authority ON service_account_certificates (authority_id, expires_at);
SELECT raise_tenant_wall('service_account_certificates');

CREATE TABLE service_account_keys (
  id TEXT COLLATE "C" NOT NULL CHECK (id LIKE 'key\_%'),
  tenant_id TEXT COLLATE "C" NOT NULL,
  service_account_id TEXT COLLATE "C" NOT NULL,
  digest BYTEA NOT NULL,
  expires_at TIMESTAMP WITH TIME ZONE,
  last_used_at TIMESTAMP WITH TIME ZONE,
  created_at TIMESTAMP WITH TIME ZONE NOT NULL,
  disabled BOOLEAN DEFAULT 'false' NOT NULL,
  PRIMARY KEY (id),
  CONSTRAINT service_account_keys_own_account FOREIGN KEY (service_account_id, tenant_id)
    REFERENCES service_accounts (id, tenant_id)
);
CREATE INDEX service_account_keys_by_account ON service_account_keys (service_account_id, id);
SELECT raise_tenant_wall('service_account_keys');
