ALTER TABLE platform_keys DROP CONSTRAINT platform_keys_kind;
ALTER TABLE platform_keys ADD CONSTRAINT platform_keys_kind
  CHECK (kind IN ('task_signing', 'ssh_user_ca', 'ssh_host_ca', 'tls_ca', 'client_ca', 'registry_token'));

ALTER TABLE service_accounts ADD COLUMN certificate_required BOOLEAN DEFAULT 'false' NOT NULL;

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
