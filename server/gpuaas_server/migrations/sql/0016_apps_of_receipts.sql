-- Which app a receipt is about: a fact of its own, since it outlives the instance, and what a controller may see goes by it.
ALTER TABLE teardown_receipts ADD COLUMN app_slug TEXT;

DO $$
DECLARE before CONSTANT text := coalesce(current_setting('gpuaas.platform', true), '');
BEGIN
  PERFORM set_config('gpuaas.platform', 'on', true);  -- the rows of all tenants
  ALTER TABLE teardown_receipts DISABLE TRIGGER teardown_receipts_kept;
  UPDATE teardown_receipts r SET app_slug = coalesce((SELECT i.app_slug FROM app_instances i WHERE i.id = r.instance_id), '');
  ALTER TABLE teardown_receipts ENABLE TRIGGER teardown_receipts_kept;
  PERFORM set_config('gpuaas.platform', before, true);
END $$;

ALTER TABLE teardown_receipts ALTER COLUMN app_slug SET NOT NULL;
CREATE INDEX teardown_receipts_by_app ON teardown_receipts (project_id, app_slug, id);
