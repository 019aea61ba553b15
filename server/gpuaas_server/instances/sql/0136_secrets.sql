-- The secrets of instances: which version holds. The values are in the secret store.
CREATE TABLE instance_secrets (
  instance_id TEXT COLLATE "C" NOT NULL,
  name TEXT COLLATE "C" NOT NULL,
  tenant_id TEXT COLLATE "C" NOT NULL,
  project_id TEXT COLLATE "C" NOT NULL,
  secret_id TEXT COLLATE "C" NOT NULL,
  version INTEGER NOT NULL,
  set_at TIMESTAMP WITH TIME ZONE NOT NULL,
  set_by TEXT COLLATE "C" NOT NULL,
  operation_id TEXT COLLATE "C",
  read_at TIMESTAMP WITH TIME ZONE,
  PRIMARY KEY (instance_id, name),
  CONSTRAINT instance_secrets_version CHECK (version >= 1),
  CONSTRAINT instance_secrets_of_instance FOREIGN KEY (instance_id, tenant_id)
    REFERENCES app_instances (id, tenant_id),
  CONSTRAINT instance_secrets_same_tenant FOREIGN KEY (project_id, tenant_id) REFERENCES projects (id, tenant_id)
);
SELECT raise_tenant_wall('instance_secrets');
ALTER TABLE app_instances
    ADD COLUMN secrets_due jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN secrets_exposed jsonb NOT NULL DEFAULT '[]';
