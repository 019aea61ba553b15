-- Null: the task is about the node itself.
ALTER TABLE node_tasks ADD COLUMN tenant_id text COLLATE "C";
SELECT set_config('gpuaas.platform', 'on', true);  -- the rows of all tenants
-- Every task but those about the node names an allocation, in its specification or as its resource. One whose allocation is
-- not known any more is nobody's: no tenant has this id.
UPDATE node_tasks t SET tenant_id = coalesce(
    (SELECT a.tenant_id FROM allocations a WHERE a.id = coalesce(t.spec ->> 'allocation_id', t.resource_id)), 'unknown')
WHERE t.resource_id <> t.node_id;
SELECT set_config('gpuaas.platform', '', true);
ALTER TABLE node_tasks ADD CONSTRAINT node_tasks_tenant CHECK (tenant_id IS NOT NULL OR resource_id = node_id);
SELECT raise_tenant_wall('node_tasks');
