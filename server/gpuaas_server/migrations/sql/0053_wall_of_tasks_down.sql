DROP POLICY tenant_wall ON node_tasks;
ALTER TABLE node_tasks NO FORCE ROW LEVEL SECURITY;
ALTER TABLE node_tasks DISABLE ROW LEVEL SECURITY;
ALTER TABLE node_tasks DROP CONSTRAINT node_tasks_tenant;
ALTER TABLE node_tasks DROP COLUMN tenant_id;
