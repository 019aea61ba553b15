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
CREATE INDEX instance_secrets_by_secret ON instance_secrets (secret_id);
-- A controller sees the secrets of the instances that it sees, and of the sealed values those of these secrets. It keeps a
-- value before the secret names it, so what it inserts is not looked at here.
CREATE POLICY controller_wall ON instance_secrets AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM app_instances i WHERE i.id = instance_secrets.instance_id));
CREATE POLICY controller_wall ON secrets AS RESTRICTIVE USING (
  (SELECT coalesce(current_setting('gpuaas.controller', true), '')) = ''
  OR EXISTS (SELECT 1 FROM instance_secrets s WHERE s.secret_id = secrets.id)) WITH CHECK (true);
-- Where the external store has a value; null: at its id and version.
ALTER TABLE secrets ADD COLUMN store_name TEXT;
ALTER TABLE app_instances
    ADD COLUMN secrets_due jsonb NOT NULL DEFAULT '[]',
    ADD COLUMN secrets_exposed jsonb NOT NULL DEFAULT '[]';
